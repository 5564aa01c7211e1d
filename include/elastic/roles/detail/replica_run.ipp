// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/replica_run.hpp>

#include <elastic/agent/detail/run/role_link.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline agent_part::context without_world(agent_part::context context) {
  context.has_world = false;
  return context;
}

ELASTIC_DECL replica_run::replica_run(agent_part::context context, prepared_workers prepared,
                                      std::string run_id)
    : worker_run(without_world(std::move(context)), std::move(prepared.workers),
                 std::move(prepared.services), std::move(run_id), "replicas"),
      startup_warning_(std::move(prepared.notice)),
      ledger_(spec_),
      happened_(strand_),
      tasks_(std::make_unique<task_group>(strand_)) {
  group_.treat_as_replicas([this](std::size_t replica) {
    ended_.push_back(replica);
    happened_.set();
  });
}

/// Runs the replicas. However the run ends, no replica is left.
ELASTIC_DECL task<void> replica_run::live(std::optional<run_result>& result) {
  return keep_result(with_cleanup(supervise(), end_all()), result);
}

// ---- commands -----------------------------------------------------------------------------------

ELASTIC_DECL void replica_run::take(const std::shared_ptr<pending_command>& pending) {
  using kind = job_command::kind;
  const kind what = pending->command().what;
  if (what == kind::drain) return drain(*pending);
  if (what == kind::resume) return begin_resume(pending);
  if (stop_.is_requested()) return pending->settle(false, "the replicas are being stopped");
  if (what == kind::pause) return begin_pause(pending);
  if (what == kind::stacks) return orders_.push_inspection(pending);
  if (orders_.is_saving() || asked_pause_) {
    return pending->settle(false, "no checkpoint: one is being saved already");
  }
  orders_.push_checkpoint(pending);
}

ELASTIC_DECL void replica_run::drain(pending_command& pending) {
  stop_request request;
  request.reason = "drained " + pending.command().reason;
  request.is_node_bad = true;
  take(request);
  pending.settle(true, "the replicas of this node are stopped");
}

ELASTIC_DECL std::optional<int> replica_run::ended_with_success() const {
  for (const worker_group::worker& each : group_.workers()) {
    if (each.end && each.end->status.is_success()) return each.identity.local_rank;
  }
  return std::nullopt;
}

inline std::string no_pause_after_success(int replica) {
  return fmt::format("not paused: replica {} has ended with success, and would run again", replica);
}

ELASTIC_DECL void replica_run::begin_pause(std::shared_ptr<pending_command> pending) {
  if (asked_resume_) return pending->settle(false, "not paused: the replicas are being resumed");
  if (is_paused_) return pending->settle(true, "the replicas are already paused");
  if (asked_pause_) return pending->settle(false, "not paused: a pause is asked for already");
  if (orders_.is_saving()) return pending->settle(false, "not paused: a checkpoint is being saved");
  if (const auto done = ended_with_success()) {
    return pending->settle(false, no_pause_after_success(*done));
  }
  asked_pause_ = std::move(pending);
  happened_.set();
}

ELASTIC_DECL void replica_run::begin_resume(std::shared_ptr<pending_command> pending) {
  // A second request during a resume gets the same answer as one after it.
  if (!is_paused_ || asked_resume_) {
    return pending->settle(false, "not resumed: the replicas are not paused");
  }
  if (stop_.is_requested()) {
    return pending->settle(false, "not resumed: the replicas are being stopped");
  }
  asked_resume_ = std::move(pending);
  happened_.set();
}

/// Lets the replicas save a checkpoint, and stops them.
ELASTIC_DECL task<void> replica_run::pause() {
  const job_command command = asked_pause_->command();
  task<void> saving = save_before_pause(command.within);
  co_await race(std::move(saving), stop_.requested());
  const auto done = ended_with_success();
  if (stop_.is_requested() || done) {
    const auto pending = std::exchange(asked_pause_, nullptr);
    if (done) pending->settle(false, no_pause_after_success(*done));
    co_return;
  }
  const std::string why = "paused " + command.reason;
  log_.warning("the replicas are {}", why);
  journal_.record(job_event::type::job_paused, why);
  task<void> stopping = stop_all(usual_stop());
  co_await std::move(stopping);
  ended_.clear();
  due_.clear();
  is_paused_ = true;
  const auto pending = std::exchange(asked_pause_, nullptr);
  if (stop_.is_requested()) {
    pending->settle(false, "not paused: the replicas are being stopped");
  } else {
    pending->settle(true, "the replicas are paused: none of this node runs");
  }
}

ELASTIC_DECL task<void> replica_run::resume() {
  const auto pending = std::exchange(asked_resume_, nullptr);
  const std::string how = "resumed " + pending->command().reason;
  log_.warning("the replicas are {}", how);
  journal_.record(job_event::type::job_resumed, how);
  is_paused_ = false;
  ++start_;
  tasks_ = std::make_unique<task_group>(strand_);
  task<void> starting = start_all();
  co_await std::move(starting);
  pending->settle(true, "the replicas run again");
}

// ---- the loop -----------------------------------------------------------------------------------

ELASTIC_DECL task<run_result> replica_run::supervise() {
  if (!stop_.is_requested()) {
    task<void> beginning = open_and_start();
    co_await race(std::move(beginning), stop_.requested());
  }
  while (!stop_.is_requested()) {
    if (failure_) std::rethrow_exception(failure_);
    if (is_paused_) {
      task<void> waiting = spend_pause();
      co_await std::move(waiting);
    } else if (group_.state() == worker_state::succeeded) {
      // The endless grace period waits for a slow reader of their output.
      task<void> clearing = stop_all({SIGKILL, duration::max()});
      co_await std::move(clearing);
      co_return finish_succeeded();
    } else if (refusal_ || group_.state() == worker_state::failed) {
      task<void> stopping = stop_all(usual_stop());
      co_await std::move(stopping);
      if (!stop_.is_requested()) co_return finish_failed();
    } else {
      task<void> stepping = take_step();
      co_await std::move(stepping);
    }
  }
  task<run_result> finishing = finish_stopped();
  co_return co_await std::move(finishing);
}

/// Takes one step while the replicas run. Steps never overlap, so that no stop happens during a
/// start.
ELASTIC_DECL task<void> replica_run::take_step() {
  if (asked_pause_) {
    task<void> pausing = pause();
    co_await std::move(pausing);
  } else if (!ended_.empty()) {
    const std::size_t replica = ended_.front();
    ended_.pop_front();
    judge(replica);
  } else if (!due_.empty()) {
    pending_restart next = std::move(due_.front());
    due_.pop_front();
    task<void> starting = start_again(std::move(next));
    co_await race(std::move(starting), stop_.requested());
  } else {
    task<void> waiting = await_event();
    co_await std::move(waiting);
  }
}

/// Waits or resumes while the replicas are paused.
ELASTIC_DECL task<void> replica_run::spend_pause() {
  if (!asked_resume_) happened_.reset();
  task<void> next = asked_resume_ ? resume() : happened_.wait();
  co_await race(std::move(next), stop_.requested());
}

ELASTIC_DECL task<void> replica_run::open_and_start() {
  task<void> opening = files_.open(run_id_, spec_.log_dir, spec_.log_name, spec_.journal);
  co_await std::move(opening);
  task<void> starting = start_all();
  co_await std::move(starting);
}

ELASTIC_DECL task<void> replica_run::start_all() {
  journal_.record(job_event::type::workers_starting);
  const time_point starting = time_.now();
  rendezvous_round alone;
  alone.round = start_;
  parts_->begin_attempt(alone);
  assigned_ranks ranks;
  ranks.world_size = ranks.role_world_size = spec_.nproc_per_node;
  std::vector<std::size_t> all(static_cast<std::size_t>(spec_.nproc_per_node));
  std::iota(all.begin(), all.end(), std::size_t{0});
  choose_ports(all);
  std::vector<int> failures;
  for (const std::size_t replica : all) failures.push_back(ledger_.failures(replica));
  group_.on_start([this, alone, ranks, starting] {
    journal_.record_workers(alone, ranks, std::nullopt, starting);
  });
  task<void> begin = start_ == 0 ? group_.start(alone, ranks, run_id_, 0)
                                 : group_.start_replicas(alone, ranks, run_id_, failures);
  co_await std::move(begin);
  for (std::size_t replica = 0; replica < group_.workers().size(); ++replica) {
    ledger_.started(replica, time_.now());
  }
  telemetry_.record_start(group_);
  if (!startup_warning_.empty()) log_.warning("{}", std::exchange(startup_warning_, {}));
  log_.info("{} replicas of '{}' run", spec_.nproc_per_node, spec_.role);
  announce(std::nullopt);
  run_beside(orders_.carry_out());
  run_beside(group_.watch_uninterruptible());
  run_beside(group_.watch_work());
}

/// Waits until the loop has something to do.
ELASTIC_DECL task<void> replica_run::await_event() {
  co_await race(happened_.wait(), group_.wait_for_outcome());
  happened_.reset();
}

ELASTIC_DECL void replica_run::judge(std::size_t replica) {
  const worker_group::worker& entry = group_.workers()[replica];
  const exit_status status = entry.end->status;
  if (status.is_success()) {
    log_.info("{} replica {} (pid {}) has ended with success", spec_.role, replica, entry.pid);
    return;
  }
  const restart_ledger::decision next = decide(entry);
  const std::string hung = entry.hung.empty() ? "" : ", hung: " + entry.hung;
  log_.warning("{} replica {} (pid {}) ended: {}{}; {}", spec_.role, replica, entry.pid,
               status.text(), hung, next.reason);
  journal_.record_decision(next, ledger_.failures(), next.restart);
  const std::string cause = fmt::format("replica {} ended: {}{}", replica, status.text(), hung);
  if (next.restart) {
    run_beside(
        prepare({replica, cause, entry.end->time}, deadline_after(entry.end->time, next.delay)));
    return;
  }
  refusal_ = next;
  refusal_->reason = fmt::format("{}: {}", cause, next.reason);
}

ELASTIC_DECL restart_ledger::decision replica_run::decide(const worker_group::worker& ended) {
  const auto replica = static_cast<std::size_t>(ended.identity.local_rank);
  std::optional<std::int64_t> step;
  for (const agent_part::attempt_worker& each : group_.attempt_workers()) {
    if (each.local_rank == ended.identity.local_rank && each.step >= 0) step = each.step;
  }
  restart_ledger::decision next = ledger_.failed(replica, ended.end->status, step, ended.end->time);
  if (!group_.reports().no_restart) return next;
  next.restart = false;
  next.reason = *group_.reports().no_restart;
  next.is_hopeless = group_.reports().is_hopeless;
  return next;
}

/// Makes a replica due to restart once its descendants are gone and its delay is over.
ELASTIC_DECL task<void> replica_run::prepare(pending_restart next, time_point due) {
  task<void> clearing = group_.clear(next.replica);
  co_await std::move(clearing);
  if (time_.now() < due) co_await time_.sleep_until(due);
  due_.push_back(std::move(next));
  happened_.set();
}

ELASTIC_DECL void replica_run::run_beside(task<void> work) {
  tasks_->spawn(keep_failure(std::move(work)));
}

/// Errors: none; stores them in `failure_`.
ELASTIC_DECL task<void> replica_run::keep_failure(task<void> work) {
  try {
    co_await std::move(work);
  } catch (...) {
    // A cancellation comes from a stop or a pause, and is no failure.
    const std::exception_ptr failure = std::current_exception();
    if (!is_cancellation(failure)) failure_ = failure;
  }
  if (failure_) happened_.set();
}

ELASTIC_DECL task<void> replica_run::start_again(pending_restart next) {
  const std::size_t replica = next.replica;
  choose_ports({replica});
  group_.on_start([this, next = std::move(next)] { record_restart(next); });
  task<void> starting = group_.restart(replica, run_id_, ledger_.failures(replica));
  co_await std::move(starting);
  ledger_.started(replica, time_.now());
  ++restarts_;
  const worker_group::worker& entry = group_.workers()[replica];
  log_.info("{} replica {} runs again as pid {}", spec_.role, replica, entry.pid);
  announce(entry.identity.rank);
}

ELASTIC_DECL void replica_run::record_restart(const pending_restart& next) {
  const worker_group::worker& entry = group_.workers()[next.replica];
  job_event event;
  event.kind = job_event::type::ranks_replaced;
  event.state = "worker_failed";
  event.reason = next.cause;
  event.attempt = entry.restart_count;
  event.rank = entry.identity.rank;
  event.ranks = {entry.identity.rank};
  event.pid = entry.pid;
  event.count = static_cast<std::int64_t>(group_.running()) - (entry.end ? 0 : 1);
  event.seconds = std::chrono::duration<double>(time_.now() - next.ended).count();
  services_.journal->record(std::move(event));
}

ELASTIC_DECL void replica_run::choose_ports(const std::vector<std::size_t>& replicas) {
  const std::shared_ptr<role_link>& link = internals::of(services_).roles;
  if (!link) return;
  link->choose_ports(replicas);
  // All replicas are on this node, so there is no exchange with others.
  link->met({link->places(0)});
}

ELASTIC_DECL void replica_run::announce(std::optional<int> replaced) {
  agent_part::started_workers start;
  start.world_size = spec_.nproc_per_node;
  start.group_world_size = 1;
  start.restarts = restarts_;
  start.max_restarts = spec_.max_restarts;
  if (replaced) {
    start.stayed = spec_.nproc_per_node - 1;
    start.replaced = {*replaced};
  }
  group_.announce(start);
}

// ---- the end ------------------------------------------------------------------------------------

/// Stops the replicas by `plan`, or by the stop request if there is one or one arrives meanwhile.
ELASTIC_DECL task<void> replica_run::stop_all(stop_plan plan) {
  co_await tasks_->stop();
  orders_.clear();
  co_await stop_.stop(plan, duration::max());
}

ELASTIC_DECL task<void> replica_run::save_before_pause(duration limit) {
  if (group_.state() != worker_state::healthy) co_return;
  co_await orders_.save(limit);
}

ELASTIC_DECL task<void> replica_run::end_all() {
  task<void> stopping = stop_all(usual_stop());
  co_await std::move(stopping);
  co_await parts_->end();
}

ELASTIC_DECL task<run_result> replica_run::finish_stopped() {
  co_await tasks_->stop();
  co_await save_before_stop();
  co_await stop_all(usual_stop());
  co_return stopped_result();
}

ELASTIC_DECL run_result replica_run::finish_succeeded() {
  run_result result = make_result(worker_state::succeeded, "all replicas ended with success");
  result.return_values = group_.return_values();
  return result;
}

/// The restarts are used up, or a replica has reported that it must not restart or that this node
/// is bad.
ELASTIC_DECL run_result replica_run::finish_failed() {
  std::string reason = "a replica failed";
  if (refusal_) reason = refusal_->reason;
  if (!refusal_ && group_.reports().no_restart) reason = *group_.reports().no_restart;
  if (group_.reports().bad_node) reason = *group_.reports().bad_node;
  run_result result = make_result(worker_state::failed, std::move(reason));
  result.is_hopeless = refusal_ && refusal_->is_hopeless;
  result.left_as_bad = group_.reports().bad_node.has_value();
  return result;
}

}  // namespace elastic::detail

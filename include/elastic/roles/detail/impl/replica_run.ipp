// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/replica_run.hpp>

#include <elastic/agent/detail/role_link.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL replica_run::replica_run(asio::any_io_executor strand, prepared_workers prepared,
                                      std::string run_id)
    : spec_(std::move(prepared.workers)),
      notice_(std::move(prepared.notice)),
      run_id_(std::move(run_id)),
      services_(complete(std::move(prepared.services), strand)),
      log_(services_.log),
      time_(*services_.time),
      files_(*services_.journal, time_, log_),
      group_(strand, spec_, services_, files_.layout()),
      journal_(*services_.journal, spec_, group_, time_),
      telemetry_(services_, spec_, run_id_, "replicas"),
      ledger_(static_cast<std::size_t>(spec_.nproc_per_node), spec_.max_restarts, spec_.restart),
      stop_requested_(strand),
      happened_(strand),
      tasks_(strand) {
  group_.treat_as_replicas([this](std::size_t replica) {
    ended_.push_back(replica);
    happened_.set();
  });
}

ELASTIC_DECL task<run_result> replica_run::run() {
  const time_point began = time_.now();
  journal_.note_start(run_id_, "replicas");
  std::optional<run_result> result;
  std::string breakdown = "unknown error";
  std::exception_ptr failure;
  try {
    task<run_result> living = supervise();
    // However the run ends, no replica is left.
    task<void> ending = stop_all(usual_stop());
    result = co_await with_cleanup(std::move(living), std::move(ending));
  } catch (const std::exception& thrown) {
    failure = std::current_exception();
    breakdown = thrown.what();
  } catch (...) {
    failure = std::current_exception();
  }
  journal_.note_end(result ? result->state : worker_state::failed,
                    result ? result->reason : breakdown, began);
  task<void> leaving = files_.leave(result ? &*result : nullptr);
  co_await std::move(leaving);
  if (failure) {
    telemetry_.record_agent(group_, restarts_, breakdown);
    std::rethrow_exception(failure);
  }
  report(*result);
  co_return std::move(*result);
}

// ---- requests -----------------------------------------------------------------------------------

ELASTIC_DECL void replica_run::take(const stop_request& request) {
  if (stop_ && !request.escalates) return;
  const bool is_urgent = stop_.has_value() || request.signal == SIGKILL;
  const std::string reason = request.reason.empty() ? "stop requested" : request.reason;
  log_.warning("{}: {} the replicas", reason, is_urgent ? "killing" : "stopping");
  if (!stop_) stop_ = request;
  journal_.note_stop_request(reason, is_urgent ? SIGKILL : request.signal);
  if (is_urgent) {
    group_.kill();
  } else {
    group_.end_hooks();
  }
  stop_requested_.set();
  happened_.set();
}

ELASTIC_DECL void replica_run::take(const signal_request& request) {
  log_.info("{} passed on to {} replicas", signal_name(request.number),
            group_.running() + group_.starting());
  group_.signal(request.number);
}

// ---- the loop -----------------------------------------------------------------------------------

ELASTIC_DECL task<run_result> replica_run::supervise() {
  if (!stop_) {
    task<void> beginning = open_and_start();
    co_await race(std::move(beginning), stop_requested_.wait());
  }
  while (!stop_) {
    if (failure_) std::rethrow_exception(failure_);
    if (group_.state() == worker_state::succeeded) {
      // A slow reader of their output is waited for.
      task<void> clearing = stop_all({SIGKILL, duration::max()});
      co_await std::move(clearing);
      co_return finish(worker_state::succeeded, "all replicas ended with success");
    }
    if (refusal_ || group_.state() == worker_state::failed) {
      task<void> stopping = stop_all(usual_stop());
      co_await std::move(stopping);
      if (!stop_) co_return finish_failed();
    } else if (!ended_.empty()) {
      const std::size_t replica = ended_.front();
      ended_.pop_front();
      judge(replica);
    } else if (!due_.empty()) {
      next_life next = std::move(due_.front());
      due_.pop_front();
      task<void> starting = start_again(std::move(next));
      co_await race(std::move(starting), stop_requested_.wait());
    } else {
      task<void> waiting = await_event();
      co_await std::move(waiting);
    }
  }
  task<run_result> finishing = finish_stopped();
  co_return co_await std::move(finishing);
}

ELASTIC_DECL task<void> replica_run::open_and_start() {
  task<void> opening = files_.open(run_id_, spec_.log_dir, spec_.log_name, spec_.journal);
  co_await std::move(opening);
  journal_.note(job_event::type::workers_starting);
  const time_point starting = time_.now();
  const rendezvous_round alone;
  assigned_ranks ranks;
  ranks.world_size = ranks.role_world_size = spec_.nproc_per_node;
  std::vector<std::size_t> all(static_cast<std::size_t>(spec_.nproc_per_node));
  std::iota(all.begin(), all.end(), std::size_t{0});
  choose_ports(all);
  task<void> begin = group_.start(alone, ranks, run_id_, 0);
  co_await std::move(begin);
  for (std::size_t replica = 0; replica < group_.workers().size(); ++replica) {
    ledger_.started(replica, time_.now());
  }
  journal_.note_workers(alone, ranks, std::nullopt, starting);
  telemetry_.record_start(group_);
  if (!notice_.empty()) log_.warning("{}", std::exchange(notice_, {}));
  log_.info("{} replicas of '{}' run", spec_.nproc_per_node, spec_.role);
  announce(std::nullopt);
  tasks_.spawn(group_.watch_uninterruptible());
  tasks_.spawn(group_.watch_work());
}

/// Until one has ended, or is to start, or all is over.
ELASTIC_DECL task<void> replica_run::await_event() {
  co_await race(happened_.wait(), group_.wait_for_outcome());
  happened_.reset();
}

ELASTIC_DECL void replica_run::judge(std::size_t replica) {
  const worker_group::worker& entry = group_.workers()[replica];
  const exit_status status = entry.end->status;
  if (status.success()) {
    log_.info("{} replica {} (pid {}) has ended with success", spec_.role, replica, entry.pid);
    return;
  }
  const restart_ledger::decision next = decide(entry);
  const std::string hung = entry.hung.empty() ? "" : ", hung: " + entry.hung;
  log_.warning("{} replica {} (pid {}) ended: {}{}; {}", spec_.role, replica, entry.pid,
               status.text(), hung, next.reason);
  journal_.note_decision(next, ledger_.failures(), next.restart);
  const std::string cause = fmt::format("replica {} ended: {}{}", replica, status.text(), hung);
  if (next.restart) {
    tasks_.spawn(prepare({replica, cause, entry.end->at},
                         deadline_after(entry.end->at, next.delay)));
    return;
  }
  refusal_ = next;
  refusal_->reason = fmt::format("{}: {}", cause, next.reason);
}

ELASTIC_DECL restart_ledger::decision replica_run::decide(const worker_group::worker& ended) {
  const auto replica = static_cast<std::size_t>(ended.identity.local_rank);
  std::optional<std::int64_t> step;
  for (const agent_extension::attempt_worker& each : group_.attempt_workers()) {
    if (each.local_rank == ended.identity.local_rank && each.step >= 0) step = each.step;
  }
  restart_ledger::decision next =
      ledger_.failed(replica, ended.end->status, step, ended.end->at);
  if (!group_.no_restart()) return next;
  next.restart = false;
  next.reason = *group_.no_restart();
  next.is_hopeless = group_.is_hopeless();
  return next;
}

/// What the replica had started is gone, and its pause is over. Errors: none; see `failure_`.
ELASTIC_DECL task<void> replica_run::prepare(next_life next, time_point due) {
  try {
    task<void> clearing = group_.clear(next.replica);
    co_await std::move(clearing);
    if (time_.now() < due) co_await time_.sleep_until(due);
    due_.push_back(std::move(next));
  } catch (...) {
    // Of a cancellation nobody asks: the run is ending.
    failure_ = std::current_exception();
  }
  happened_.set();
}

ELASTIC_DECL task<void> replica_run::start_again(next_life next) {
  const std::size_t replica = next.replica;
  choose_ports({replica});
  task<void> starting = group_.restart(replica, run_id_, ledger_.failures(replica));
  co_await std::move(starting);
  ledger_.started(replica, time_.now());
  ++restarts_;
  const duration took = time_.now() - next.ended;
  const worker_group::worker& entry = group_.workers()[replica];
  log_.info("{} replica {} runs again as pid {}", spec_.role, replica, entry.pid);
  job_event event;
  event.kind = job_event::type::ranks_replaced;
  event.state = "worker_failed";
  event.reason = std::move(next.cause);
  event.attempt = entry.restart_count;
  event.rank = entry.identity.rank;
  event.ranks = {entry.identity.rank};
  event.pid = entry.pid;
  event.count = static_cast<std::int64_t>(group_.running()) - 1;
  event.seconds = std::chrono::duration<double>(took).count();
  services_.journal->record(std::move(event));
  announce(entry.identity.rank);
}

ELASTIC_DECL void replica_run::choose_ports(const std::vector<std::size_t>& replicas) {
  const std::shared_ptr<role_link>& link = services_.roles;
  if (!link) return;
  link->choose_ports(replicas);
  // Nobody else has to be asked where replicas are.
  link->met({link->places(0)});
}

ELASTIC_DECL void replica_run::announce(std::optional<int> replaced) {
  worker_observer::started_workers start;
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

ELASTIC_DECL task<void> replica_run::stop_all(stop_plan plan) {
  return journal_.time_stop(plan, carry_out(plan));
}

/// As planned, or as a request says that was made or comes meanwhile.
ELASTIC_DECL task<void> replica_run::carry_out(stop_plan plan) {
  co_await tasks_.stop();
  if (!stop_) co_await race(group_.stop(plan), stop_requested_.wait());
  if (!stop_) co_return;
  plan.signal = stop_->signal;
  plan.grace = stop_->grace.value_or(spec_.shutdown_timeout);
  co_await group_.stop(plan);
}

ELASTIC_DECL task<void> replica_run::save_before_stop() {
  const duration within = spec_.preempt_grace;
  if (stop_->signal != SIGTERM || within <= duration::zero()) co_return;
  if (group_.state() != worker_state::healthy) co_return;
  const time_point began = time_.now();
  log_.info("asking the replicas for a checkpoint");
  task<checkpoint_outcome> saving = group_.checkpoint(within);
  const checkpoint_outcome outcome = co_await std::move(saving);
  journal_.note_checkpoint(outcome, began);
}

ELASTIC_DECL task<run_result> replica_run::finish_stopped() {
  co_await tasks_.stop();
  task<void> saving = save_before_stop();
  co_await std::move(saving);
  task<void> stopping = stop_all(usual_stop());
  co_await std::move(stopping);
  run_result result =
      finish(worker_state::stopped, stop_->reason.empty() ? "stop requested" : stop_->reason);
  result.stop_signal = stop_->signal;
  co_return result;
}

/// A replica used up the restarts, or said that there is to be none, or that this node is bad.
ELASTIC_DECL run_result replica_run::finish_failed() {
  std::string reason = "a replica failed";
  if (refusal_) reason = refusal_->reason;
  if (!refusal_ && group_.no_restart()) reason = *group_.no_restart();
  if (group_.bad_node()) reason = *group_.bad_node();
  run_result result = finish(worker_state::failed, std::move(reason));
  result.is_hopeless = refusal_ && refusal_->is_hopeless;
  result.left_as_bad = group_.bad_node().has_value();
  return result;
}

ELASTIC_DECL run_result replica_run::finish(worker_state state, std::string reason) {
  run_result result;
  result.state = state;
  result.failures = group_.failures(host_name());
  result.restarts = restarts_;
  result.max_restarts = spec_.max_restarts;
  result.reason = std::move(reason);
  if (state == worker_state::succeeded) result.return_values = group_.return_values();
  return result;
}

ELASTIC_DECL void replica_run::report(const run_result& result) {
  const bool was_stopped = result.state == worker_state::stopped;
  if (!was_stopped) telemetry_.emit_result(result);
  telemetry_.record_workers(group_, result);
  telemetry_.record_agent(group_, result.restarts,
                          was_stopped ? std::optional<std::string>(result.reason) : std::nullopt);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_run.hpp>

#include <elastic/agent/detail/rounds/arrivals.hpp>
#include <elastic/agent/detail/rounds/replacement_line.hpp>
#include <elastic/agent/detail/run/role_link.hpp>
#include <elastic/agent/detail/workers/node_checker.hpp>
#include <elastic/agent/detail/workers/program_environment.hpp>
#include <elastic/agent/failure_report.hpp>
#include <elastic/base/detail/endless.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/control/detail/worker_liveness.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

inline agent_part::context with_growth(agent_part::context context, bool job_may_grow) {
  context.job_may_grow = job_may_grow;
  return context;
}

ELASTIC_DECL agent_run::agent_run(agent_part::context context, worker_spec spec,
                                  rendezvous_factory rendezvous, agent_services services,
                                  std::string notice, std::string meeting, bool job_may_grow)
    : worker_run(with_growth(std::move(context), job_may_grow), std::move(spec),
                 with_own_part(std::move(services), *this), rendezvous.run_id(),
                 rendezvous.backend()),
      startup_warning_(std::move(notice)),
      waiting_hint_(std::move(meeting)),
      factory_(std::move(rendezvous)),
      rendezvous_(factory_.handler()),
      job_may_grow_(job_may_grow),
      pause_(rendezvous_, journal_, log_),
      ledger_(spec_.max_restarts, spec_.restart, spec_.name_of("max_restarts")),
      epochs_(spec_, group_, journal_, telemetry_, time_, log_),
      started_(strand_),
      fenced_(strand_) {
  // The other workers must stop whether the group restarts or the job ends, in the same way as by
  // `stop_in_time`.
  group_.stop_on_failure(usual_stop());
}

class agent_run::own_part final : public agent_part {
 public:
  explicit own_part(agent_run& run) : run_(run) {}
  void progressed(const worker_progress& made) override {
    if (made.is_new) run_.epochs_.record_step(made.step);
  }

 private:
  agent_run& run_;
};

ELASTIC_DECL agent_services agent_run::with_own_part(agent_services services, agent_run& self) {
  services.parts.insert(services.parts.begin(),
                        {"agent", [&self](const auto&) { return new_shared<own_part>(self); }});
  return services;
}

ELASTIC_DECL void agent_run::take(const std::shared_ptr<pending_command>& pending) {
  switch (pending->command().what) {
    case job_command::kind::pause: return pause(pending);
    case job_command::kind::resume: return resume(*pending);
    case job_command::kind::checkpoint: return save_by_command(pending);
    case job_command::kind::drain: return drain(*pending);
    case job_command::kind::stacks: return orders_.push_inspection(pending);
  }
}

ELASTIC_DECL void agent_run::on_stop(const stop_request& request, bool kills) {
  const bool saves = request.signal == SIGTERM && spec_.preempt_grace > duration::zero();
  if (request.is_node_bad && !kills) stop_others(request.reason, saves);
}

ELASTIC_DECL task<void> agent_run::live(std::optional<run_result>& result) {
  task<run_result> living = with_cleanup(run_to_stop(), leave_rendezvous());
  co_await race(keep_result(std::move(living), result), kill_at_fence());
}

// ---- commands ---------------------------------------------------------------------------------

ELASTIC_DECL void agent_run::pause(const std::shared_ptr<pending_command>& pending) {
  if (stop_.is_requested()) {
    return pending->settle(false, "not paused: this node leaves the job");
  }
  if (is_between_epochs()) return pause_later(pending);
  pause_.begin(pending);
  // At the exit barrier, the other nodes may still succeed before they learn of the pause.
  if (group_.running() + group_.starting() == 0 && !is_at_exit_barrier_) pause_.settle();
}

/// Whether workers are leaving an epoch or wait for the next one.
ELASTIC_DECL bool agent_run::is_between_epochs() const {
  if (!kept_workers().is_on() || group_.running() == 0) return false;
  const rendezvous_change* const change = round_end();
  return kept_workers().ready() > 0 || (change && !ends_all(*change));
}

/// Whether a change pauses the whole job. A pause without checkpoints comes from a node that
/// leaves the job.
ELASTIC_DECL bool agent_run::ends_all(const rendezvous_change& change) {
  return change.is_pause && change.saves_first;
}

/// Postpones a pause: workers that wait for the next epoch can neither save now nor give up their
/// memory.
ELASTIC_DECL void agent_run::pause_later(const std::shared_ptr<pending_command>& pending) {
  if (pause_for_epoch_) return pending->settle(false, "not paused: a pause is asked for already");
  log_.warning("the job pauses when the workers have begun the next epoch");
  pause_for_epoch_ = pending;
}

ELASTIC_DECL void agent_run::resume(pending_command& pending) {
  if (!pause_for_epoch_) return pause_.resume(pending);
  std::exchange(pause_for_epoch_, nullptr)->settle(false, "not paused: resumed before");
  pending.settle(true, "the job is not paused");
}

ELASTIC_DECL void agent_run::save_by_command(const std::shared_ptr<pending_command>& pending) {
  if (stop_.is_requested()) {
    return pending->settle(false, "no checkpoint: this node leaves the job");
  }
  // It would wait for longer than its sender allows.
  if (orders_.is_saving()) {
    return pending->settle(false, "no checkpoint: one is being saved already");
  }
  orders_.push_checkpoint(pending);
}

/// Stops the workers of the other nodes. Otherwise they would fail once their peers here end, and
/// that would count as a failure of the job. They have time to save if the workers of this node
/// have.
ELASTIC_DECL void agent_run::stop_others(const std::string& why, bool saves_first) {
  if (!attempt_ || attempt_->round.group_world_size < 2 || group_.running() == 0) return;
  try {
    const std::string reason = fmt::format("paused while {} leaves: {}", journal_.node(), why);
    rendezvous_->pause(reason, saves_first);
  } catch (const error& refusal) {
    log_.debug("the other nodes cannot be notified that this one leaves: {}", refusal.what());
  }
}

/// Saves a checkpoint before a pause. All nodes do so at about the same time.
ELASTIC_DECL task<void> agent_run::save_before_pause() {
  const duration timeout =
      spec_.preempt_grace > duration::zero() ? spec_.preempt_grace : job_command().within;
  if (group_.state() == worker_state::healthy) co_await orders_.save(timeout);
}

/// Does the same as a drain file.
ELASTIC_DECL void agent_run::drain(pending_command& pending) {
  if (stop_.is_requested()) return pending.settle(true, "this node leaves the job already");
  stop_request request;
  request.reason = "drained " + pending.command().reason;
  request.is_node_bad = true;
  take(request);
  pending.settle(true, "this node leaves the job");
}

// ---- the loop ---------------------------------------------------------------------------------

/// Runs until the job ends or a stop is requested. All nodes may be asked to stop at the same
/// time, and the one that hosts the rendezvous may end before another has seen its own request.
/// That node should then still report its stop.
ELASTIC_DECL task<run_result> agent_run::run_to_stop() {
  std::optional<run_result> result;
  std::optional<error> closed;
  try {
    result = co_await run_attempts();
  } catch (const error& failure) {
    if (failure.code() != errc::rendezvous_closed) throw;
    closed = failure;
  }
  if (result) co_return std::move(*result);
  if (!stop_.is_requested()) {
    const time_point limit = deadline_after(time_.now(), limits::stop_request_patience);
    co_await stop_.run_until_requested(time_.sleep_until(limit));
  }
  if (stop_.is_requested()) co_return co_await finish_stopped();
  if (group_.workers().empty()) throw *closed;
  // Workers have run: the result has their failures, and those who read it learn of their logs.
  run_result closing = complete(make_result(worker_state::failed, closed->what()));
  if (!closing.failures.empty()) log_.warning("the job has failed: {}", closing.reason);
  co_return closing;
}

/// Runs attempts until the job ends on this node.
ELASTIC_DECL task<run_result> agent_run::run_attempts() {
  using action = agent_step::action;
  task<void> opening = files_.open(run_id_, spec_.log_dir, spec_.log_name, spec_.journal);
  co_await stop_.run_until_requested(std::move(opening));
  co_await begin_attempt();
  emit_early_outcome();
  for (;;) {
    journal_.record_verdict();
    const agent_view view = look();
    const agent_step step = next_step(view);
    log_.debug("next step of the agent: {}", step.reason);
    switch (step.what) {
      case action::watch: co_await watch(); break;
      case action::wait_for_others: co_await wait_for_others(); break;
      case action::report_failure: co_await report_failure(); break;
      case action::restart:
        log_change(*view.after_round);
        co_await restart(view.after_round->delay);
        emit_early_outcome();
        break;
      case action::give_up:
        log_change(*view.after_round);
        co_await stop_usually();
        record_cause();
        if (!stop_.is_requested()) co_return finish_given_up(*view.after_round);
        break;
      case action::leave_job: co_return co_await leave_job();
      case action::stop: co_return co_await finish_stopped();
      case action::finish_succeeded: co_return finish_succeeded();
      case action::finish_failed: co_return finish_unreported();
      case action::finish_late: co_return finish_late();
    }
  }
}

/// Kills the workers of each attempt that are still in its epoch once the other nodes may continue
/// without this one.
ELASTIC_DECL task<void> agent_run::kill_at_fence() {
  for (;;) {
    co_await started_.wait();
    started_.reset();
    co_await race(rendezvous_->wait_for_fence(), started_.wait());
    if (started_.is_set()) continue;
    const bool was_running = group_.running() > 0;
    // Workers that have left their epoch disturb no other node.
    if (group_.kill_inside() && was_running) {
      log_.error("killing the workers: other nodes may continue without this one");
      journal_.record(job_event::type::fence_reached, "other nodes may continue without this one");
    }
    fenced_.set();
  }
}

ELASTIC_DECL agent_view agent_run::look() const {
  agent_view view;
  view.is_late = is_late_;
  view.is_stopping = stop_.is_requested();
  view.is_node_bad = bad_node().has_value();
  view.workers = group_.state();
  view.is_reported = attempt_ && attempt_->is_reported;
  if (const rendezvous_change* change = round_end()) view.after_round = decide(*change);
  return view;
}

/// The reason why this node must leave the job; empty: it need not.
ELASTIC_DECL const std::optional<std::string>& agent_run::bad_node() const {
  return failed_check_ ? failed_check_ : group_.reports().bad_node;
}

ELASTIC_DECL const rendezvous_change* agent_run::round_end() const {
  return attempt_ && attempt_->change ? &*attempt_->change : nullptr;
}

ELASTIC_DECL restart_ledger::decision agent_run::decide(const rendezvous_change& change) const {
  if (change.is_pause) return {true, "this uses up no restart"};
  if (change.kind == rendezvous_change::cause::worker_failed && group_.reports().no_restart) {
    restart_ledger::decision refused;
    refused.reason = *group_.reports().no_restart;
    refused.is_hopeless = group_.reports().is_hopeless;
    return refused;
  }
  // A worker that ended because of another node's failure does not influence the decision.
  const worker_group::worker* const failed = change.on_other_node ? nullptr : group_.first_failed();
  const auto status = failed ? std::optional(failed->end->status) : std::nullopt;
  return ledger_.decide(change.kind, status, time_.now());
}

// ---- beginning an attempt ---------------------------------------------------------------------

/// Returns once the workers run, a stop is requested, or nothing is left to do.
ELASTIC_DECL task<void> agent_run::begin_attempt() {
  if (stop_.is_requested()) co_return;
  if (!spec_.node_check.command.empty()) co_await stop_.run_until_requested(check_node());
  if (stop_.is_requested() || failed_check_) co_return;
  try {
    co_await race(join_round_and_start(), stop_.requested());
  } catch (const error& failure) {
    if (failure.code() != errc::rendezvous_finished) throw;
    is_late_ = true;
    end_reason_ = failure.what();
  }
}

/// Runs the user's command that checks whether this node may take part.
ELASTIC_DECL task<void> agent_run::check_node() {
  task<node_check_outcome> looking =
      look_at_node(strand_, spec_.node_check, program_environment(spec_.environment),
                   spec_.directory, {services_.hook_launcher, services_.time, log_});
  const node_check_outcome outcome = co_await std::move(looking);
  failed_check_ = judge(spec_.node_check, outcome);
  if (!failed_check_) log_.info("the node check has ended well");
}

ELASTIC_DECL task<void> agent_run::join_round_and_start() {
  const agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent._initialize_workers");
  pause_.settle();
  std::optional<assigned_ranks> ranks;
  co_await race(meet(ranks), endless(parts_->prepare_attempt()));
  if (!ranks) co_return;
  // The fence also applies to survivors, which may take longer to end than the others wait for this
  // node.
  fenced_.reset();
  started_.set();
  co_await end_survivors();
  if (stop_.is_requested()) co_return;
  if (fenced_.is_set()) co_return co_await await_change();
  const rendezvous_round round = attempt_->round;
  const time_point starting = time_.now();
  journal_.record(job_event::type::workers_starting);
  if (attempt_->epoch.keeps_survivors) {
    parts_->begin_replacement(round);
  } else {
    parts_->begin_attempt(round);
  }
  group_.on_start([this, round, ranks = *ranks, starting] {
    const std::optional<run_result::worker_starts> starts = parts_->starts();
    journal_.record_workers(round, ranks, starts, starting);
    if (starts) starts_.add(*starts);
  });
  const bool all_run = co_await start_before_fence(round, *ranks);
  if (!all_run) co_return;
  // The last workers may have been started after the fence.
  started_.set();
  ledger_.started(time_.now());
  telemetry_.record_start(group_);
  const time_point ended = epochs_.begin(starting);
  agent_part::started_workers start{round.round,      ranks->world_size,
                                    round.group_rank, round.group_world_size,
                                    restarts_,        spec_.max_restarts};
  if (attempt_->epoch.replaces) epochs_.report_replacement(start, ended);
  group_.announce(start);
  if (!startup_warning_.empty()) log_.warning("{}", std::exchange(startup_warning_, {}));
  log_.info("round {}: node {} of {}, ranks {} to {} of {}, master {}:{}", round.round,
            round.group_rank, round.group_world_size, ranks->base_rank,
            ranks->base_rank + spec_.nproc_per_node - 1, ranks->world_size, round.master.address,
            round.master.port);
  if (attempt_->epoch.replaces) epochs_.log_replacement(start.replaced, ended);
  if (pause_for_epoch_) pause(std::exchange(pause_for_epoch_, nullptr));
}

/// Meets the other nodes. `ranks` stays empty if the job's restarts are used up.
ELASTIC_DECL task<void> agent_run::meet(std::optional<assigned_ranks>& ranks) {
  if (group_.workers().empty()) co_await wait_for_parts(parts_->join_delay());
  const time_point began = time_.now();
  journal_.record(job_event::type::rendezvous_started);
  std::optional<std::optional<assigned_ranks>> joined;
  task<void> joining = keep_result(join_round(), joined);
  if (waiting_hint_.empty()) {
    co_await std::move(joining);
  } else {
    log_.info("{}", waiting_hint_);
    co_await race(std::move(joining), report_wait());
  }
  if (!joined || !*joined) co_return;
  ranks = **joined;
  restarts_ = ledger_.failures();
  journal_.begin_attempt(restarts_);
  pause_.forget();
  journal_.record_round(attempt_->round, *ranks, began);
}

/// Starts the workers. Result: false if the other nodes may meanwhile continue without this one;
/// no worker runs then.
ELASTIC_DECL task<bool> agent_run::start_before_fence(rendezvous_round round,
                                                      assigned_ranks ranks) {
  bool all_run = false;
  task<void> working = attempt_->epoch.keeps_survivors
                           ? group_.rejoin(round, ranks, run_id_, restarts_)
                           : group_.start(round, ranks, run_id_, restarts_);
  agent_telemetry::timed_step timer(telemetry_, "LocalElasticAgent._start_workers");
  co_await race(mark_end(std::move(working), all_run), fenced_.wait());
  if (!all_run) timer.fail();
  co_return all_run;
}

ELASTIC_DECL task<void> agent_run::mark_end(task<void> work, bool& has_ended) {
  co_await std::move(work);
  has_ended = true;
}

/// Logs from time to time that this node waits for others, to explain its silence. The obstacle may
/// be found only after the first of these lines, for example when a registry stops answering later.
/// It is then logged without waiting for the next line.
ELASTIC_DECL task<void> agent_run::report_wait() {
  constexpr std::chrono::seconds between_looks(5);
  constexpr std::chrono::seconds between_lines(30);
  const time_point begun = time_.now();
  std::chrono::seconds next_line = between_looks;
  bool is_obstacle_known = false;
  for (std::chrono::seconds waited = between_looks;; waited += between_looks) {
    co_await time_.sleep_until(begun + waited);
    const std::string obstacle = rendezvous_ ? rendezvous_->obstacle() : std::string();
    const std::optional<std::string>& why = pause_.reason();
    const bool is_news = !why && !obstacle.empty() && !is_obstacle_known;
    if (waited < next_line && !is_news) continue;
    if (waited == next_line) next_line += between_lines;
    is_obstacle_known = !why && !obstacle.empty();
    if (why) {
      log_.warning("still waiting after {} s: the job is {}", waited.count(), *why);
      continue;
    }
    if (!obstacle.empty()) {
      log_.warning("still waiting after {} s: {}", waited.count(), obstacle);
      continue;
    }
    log_.warning("still waiting for other nodes after {} s: {}", waited.count(), waiting_hint_);
  }
}

/// Joins a round and learns the ranks of this node's workers; repeats that if a node is lost
/// before all have exchanged their ranks. Result: empty if the job's restarts are used up, which
/// a node that had lost the others may learn only now.
ELASTIC_DECL task<std::optional<assigned_ranks>> agent_run::join_round() {
  const agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent._rendezvous");
  for (;;) {
    co_await next_round();
    if (ledger_.is_used_up(time_.now())) {
      attempt_->change =
          rendezvous_change{rendezvous_change::cause::worker_failed, "workers of the job failed"};
      co_return std::nullopt;
    }
    std::optional<assigned_ranks> ranks;
    co_await race(keep_result(agree_in_round(), ranks), await_change());
    if (ranks) co_return ranks;
    if (ledger_.is_used_up(time_.now())) co_return std::nullopt;
    log_.warning("joining another round: {}", attempt_->change->reason);
  }
}

ELASTIC_DECL task<void> agent_run::next_round() {
  const agent_telemetry::timed_phase phase(telemetry_, "RENDEZVOUS");
  const bool is_first = !attempt_;
  if (is_first) {
    task<std::shared_ptr<rendezvous_handler>> making = factory_.make(rendezvous_);
    rendezvous_ = co_await std::move(making);
  }
  rendezvous_round round = co_await rendezvous_->next_round();
  check_round(round, backend_);
  journal_.begin_round(round.round);
  attempt_ = attempt();
  attempt_->round = std::move(round);
  const int restarts = attempt_->round.restarts;
  if (is_first) ledger_.begin_at(restarts);
  ledger_.count(restarts, time_.now());
  telemetry_.set_restarts(ledger_.failures());
}

ELASTIC_DECL task<assigned_ranks> agent_run::agree_in_round() {
  const agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent._assign_worker_ranks");
  const agent_telemetry::timed_phase phase(telemetry_, "ASSIGN_WORKER_RANKS");
  role_info role;
  role.role = spec_.role;
  role.local_world_size = spec_.nproc_per_node;
  role.is_same_everywhere =
      find_variable(spec_.environment, "TORCH_ELASTIC_WORKER_IDENTICAL") == "1";
  if (kept_workers().is_on() && backend_ == "static" && attempt_->round.group_world_size > 1) {
    throw error(errc::invalid_argument,
                fmt::format("{} replace: several nodes of the static rendezvous have one store "
                            "for all rounds; use the backend c10d",
                            spec_.name_of("on_failure")));
  }
  place_source places;
  const std::shared_ptr<role_link> roles = internals::of(services_).roles;
  if (roles) {
    places = [this](const round_agreement& agreed) { return places_in(agreed); };
  }
  task<round_agreement> agreeing =
      agree_on_round(services_.time, attempt_->round, role, epochs_.last(), places);
  const round_agreement agreement = co_await std::move(agreeing);
  attempt_->round.master = agreement.master;
  if (agreement.epoch) attempt_->epoch = epochs_.take(*agreement.epoch, attempt_->round);
  if (roles) roles->met(agreement.places);
  co_await parts_->agree(attempt_->round, agreement.ranks);
  co_return agreement.ranks;
}

/// The addresses of this node's workers, for workers of other roles. Returns the same text when
/// called again in the attempt.
ELASTIC_DECL std::string agent_run::places_in(const round_agreement& agreed) {
  std::string& places = attempt_->places;
  if (!places.empty()) return places;
  std::vector<std::size_t> fresh;
  const bool keeps = agreed.epoch && agreed.epoch->keeps_survivors;
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(spec_.nproc_per_node); ++slot) {
    if (!keeps || !kept_workers().is_ready(slot)) fresh.push_back(slot);
  }
  const std::shared_ptr<role_link>& roles = internals::of(services_).roles;
  roles->choose_ports(fresh);
  return places = roles->places(agreed.ranks.base_rank);
}

// ---- epochs: workers that outlive a round -----------------------------------------------------

/// Makes the workers that can stay leave their epoch and stops the others; stops all if the whole
/// job restarts.
ELASTIC_DECL task<void> agent_run::end_epoch() {
  const rendezvous_change& change = *attempt_->change;
  std::optional<std::string> obstacle;
  if (!group_.reports().bad_node && kept_workers().is_on()) {
    task<std::string> leaving = group_.leave_epoch(ends_all(change), change.grace);
    co_await stop_.run_until_requested(keep_result(std::move(leaving), obstacle));
    if (stop_.is_requested() || (obstacle && obstacle->empty())) co_return;
    epochs_.set_obstacle(obstacle.value_or("a node stops its workers"));
  }
  co_await stop_usually();
}

/// Whether a failure leads to a replacement, as far as this node knows.
ELASTIC_DECL bool agent_run::may_replace(const restart_ledger::decision& decision,
                                         std::size_t failed) const {
  if (!decision.restart || !kept_workers().is_on() || group_.workers().empty()) return false;
  const auto world = static_cast<std::size_t>(group_.workers().front().identity.world_size);
  return failed < world && !attempt_->change->is_pause && group_.epoch_obstacle().empty();
}

/// Stops survivors if the nodes have agreed that all workers restart.
ELASTIC_DECL task<void> agent_run::end_survivors() {
  if (!attempt_->epoch.keeps_survivors && group_.running() > 0) co_await stop_usually();
}

// ---- while workers run ------------------------------------------------------------------------

/// Returns once the workers' outcome is known, the round must end or a stop is requested.
ELASTIC_DECL task<void> agent_run::watch() {
  std::exception_ptr closed;
  try {
    co_await race(group_.wait_for_outcome(), until_round_ends(), stop_.requested(), report_state(),
                  orders_.carry_out(), group_.watch_uninterruptible(), group_.watch_work(),
                  group_.answer_questions(), report_missing(), run_beside_workers());
  } catch (const error& failure) {
    if (failure.code() != errc::rendezvous_closed) throw;
    closed = std::current_exception();
  }
  if (group_.state() != worker_state::succeeded) epochs_.end();
  // Pending requests were meant for these workers, not for the next ones.
  orders_.clear();
  if (closed) {
    // All nodes may have been asked to stop, and the one that hosts the rendezvous may end first.
    co_await stop_usually();
    if (!stop_.is_requested()) std::rethrow_exception(closed);
  }
  if (!stop_.is_requested()) emit_state();
  const bool has_succeeded = group_.state() == worker_state::succeeded;
  if (!stop_.is_requested() && !has_succeeded) parts_->end_attempt();
}

/// Logs once which workers have not connected to the store through which they find each other.
ELASTIC_DECL task<void> agent_run::report_missing() {
  const rendezvous_round::master_endpoint master = attempt_->round.master;
  if (master.served_by_agent) {
    arrival_source source = [this, master] {
      arrivals seen;
      seen.store = to_text(endpoint{master.address, master.port});
      for (const worker_group::worker& each : group_.workers()) {
        seen.world = each.identity.world_size;
        seen.do_all_run = seen.do_all_run && !each.end;
        if (!each.end && each.pid != 0) seen.own.push_back({each.identity.rank, each.pid, {}});
      }
      seen.come = rendezvous_->arrived_workers();
      return seen;
    };
    task<std::string> reporting =
        report_arrivals(services_.time, log_, std::move(source), master.port);
    const std::string missing = co_await std::move(reporting);
    if (!missing.empty()) journal_.record_missing(missing);
  }
  co_await group_.wait_for_outcome();
}

/// Returns once the round must end. Healthy workers continue for as long as the parts ask.
ELASTIC_DECL task<void> agent_run::until_round_ends() {
  co_await await_change();
  // Workers that stay need no standbys.
  if (kept_workers().obstacle().empty()) co_return;
  co_await wait_for_parts(parts_->stop_delay(*attempt_->change));
}

ELASTIC_DECL task<void> agent_run::wait_for_parts(duration timeout) {
  if (timeout <= duration::zero()) co_return;
  co_await with_deadline(time_, deadline_after(time_.now(), timeout), parts_->until_ready());
}

/// Runs the parts beside the workers. Ends only by cancellation or by a stop.
ELASTIC_DECL task<void> agent_run::run_beside_workers() {
  // With a window, restarts that were used up may become available again.
  const bool may_change = job_may_grow_ || attempt_->round.group_world_size > 1;
  const bool is_windowed = spec_.restart.window > duration::zero();
  task<void> working =
      parts_->beside_workers(may_change || is_windowed || ledger_.has_restart_left(time_.now()));
  co_await std::move(working);
  co_await stop_.requested();
}

ELASTIC_DECL void agent_run::take_change(rendezvous_change change) {
  epochs_.end();
  epochs_.set_change(change);
  ledger_.reached(group_.reports().furthest_step);
  ledger_.count(change.restarts, time_.now());
  log_missing_steps();
  journal_.record_round_end(change, ledger_.failures(), epochs_.stepped());
  if (change.is_pause) pause_.note(change.reason);
  attempt_->change = std::move(change);
}

/// Logs once that this node cannot tell whether the job makes progress.
ELASTIC_DECL void agent_run::log_missing_steps() {
  if (!ledger_.lacks_steps() || std::exchange(are_missing_steps_noted_, true)) return;
  log_.warning(
      "{} {}: no worker of this node has reported a step, so this node cannot tell whether the "
      "job makes progress",
      spec_.name_of("restart.while_progress"), spec_.restart.while_progress);
}

/// Emits the periodic state metrics. Without a handler it waits forever.
ELASTIC_DECL task<void> agent_run::report_state() {
  if (!services_.metrics) co_await time_.sleep_until(time_point::max());
  for (;;) {
    co_await time_.sleep_until(deadline_after(time_.now(), spec_.monitor_interval));
    emit_state();
  }
}

/// Emits the state of workers that are never watched because their outcome was known as soon as
/// all were started.
ELASTIC_DECL void agent_run::emit_early_outcome() {
  const bool has_begun = !stop_.is_requested() && !is_late_ && !failed_check_ && !round_end();
  if (has_begun && group_.state() != worker_state::healthy) emit_state();
}

// ---- ending an attempt ------------------------------------------------------------------------

ELASTIC_DECL task<void> agent_run::wait_for_others() {
  // The workers have ended. The endless grace period waits for a slow reader of their output.
  co_await stop_workers({SIGKILL, duration::max()});
  co_await wait_at_exit_barrier();
  attempt_->is_reported = true;
}

/// Returns once the other nodes have succeeded, too, or the round must end.
ELASTIC_DECL task<void> agent_run::wait_at_exit_barrier() {
  const time_point began = time_.now();
  const time_point deadline = deadline_after(began, spec_.exit_barrier_timeout);
  journal_.record(job_event::type::exit_barrier_started);
  bool has_passed = false;
  is_at_exit_barrier_ = true;
  try {
    task<void> barrier = rendezvous_->exit_barrier();
    task<void> waiting = keep_bool(with_deadline(time_, deadline, std::move(barrier)), has_passed);
    co_await race(std::move(waiting), await_change(), stop_.requested(),
                  endless(parts_->beside_exit_barrier()));
  } catch (const error& failure) {
    if (failure.code() == errc::rendezvous_closed) throw;
    has_passed = failure.code() == errc::rendezvous_finished;
    if (!has_passed) {
      log_.warning("cannot wait for the other agents at the end: {}", failure.what());
      is_at_exit_barrier_ = false;
      journal_.record_exit_barrier("failed", failure.what(), began);
      co_return;
    }
  }
  is_at_exit_barrier_ = false;
  std::string how = attempt_->change || stop_.is_requested() ? "changed" : "timed_out";
  if (has_passed) how = "passed";
  journal_.record_exit_barrier(std::move(how), "", began);
  if (has_passed) {
    job_end_ = rendezvous_handler::job_end::succeeded;
    attempt_->change.reset();
  } else if (!attempt_->change && !stop_.is_requested()) {
    log_.warning("some other agents did not end within the exit barrier's time-out");
  }
}

ELASTIC_DECL task<void> agent_run::report_failure() {
  co_await stop_.run_until_requested(report_first_failure());
  attempt_->is_reported = true;
}

ELASTIC_DECL task<void> agent_run::report_first_failure() {
  bool is_sent = true;
  try {
    take_change(co_await rendezvous_->report_failure(first_failure()));
  } catch (const error& failure) {
    is_sent = false;
    end_reason_ = failure.what();
  }
  // If the others cannot be reached, no attempt follows; this node still reports its own failure.
  if (!is_sent) co_await stop_workers(stop_in_time());
}

/// The first failure, as a text for the other nodes.
ELASTIC_DECL std::string agent_run::first_failure() const {
  const worker_group::worker* const first = group_.first_failed();
  if (!first) return "workers failed";
  const int rank = first->identity.rank;
  if (!first->hung.empty()) return fmt::format("rank {} was hung: {}", rank, first->hung);
  return fmt::format("rank {} ended: {}", rank, first->end->status.text());
}

/// Records the error and output of the worker whose failure ended the attempt.
ELASTIC_DECL void agent_run::record_cause() {
  const rendezvous_change* const change = round_end();
  if (!change || !change->on_other_node) journal_.record_cause();
}

ELASTIC_DECL void agent_run::log_change(const restart_ledger::decision& decision) {
  std::vector<const worker_group::worker*> failed = group_.failed();
  // Leaves out workers that the agent stopped itself.
  std::erase_if(failed, [](const worker_group::worker* entry) {
    return entry->stopped_by_agent && entry->hung.empty();
  });
  const bool replaces = may_replace(decision, failed.size());
  journal_.record_decision(decision, ledger_.failures(), replaces);
  if (replaces) {
    return log_.warning("{}", replacement_line(failed, attempt_->change->reason, decision.reason));
  }
  for (const worker_group::worker* const entry : failed) {
    log_.warning("{} rank {} (local rank {}, pid {}) ended: {}{}{}", entry->identity.role_name,
                 entry->identity.rank, entry->identity.local_rank, entry->pid,
                 entry->end->status.text(), entry->hung.empty() ? "" : ", hung: ", entry->hung);
  }
  const bool restarts = decision.restart && !attempt_->change->is_pause;
  log_.warning("{}: {}{}", restarts ? "restarting the workers" : "stopping the workers",
               failed.empty() ? attempt_->change->reason + ": " : "", decision.reason);
}

/// Ends the attempt and waits for `delay` before the next, unless a stop is requested meanwhile.
ELASTIC_DECL task<void> agent_run::restart(duration delay) {
  const agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent._restart_workers");
  if (attempt_->change->saves_first) co_await stop_.run_until_requested(save_before_pause());
  co_await end_epoch();
  orders_.clear();
  record_cause();
  if (delay > duration::zero() && !stop_.is_requested()) {
    co_await race(time_.sleep_until(deadline_after(time_.now(), delay)), stop_.requested(),
                  endless(parts_->prepare_attempt()));
  }
  if (!stop_.is_requested()) co_await begin_attempt();
}

// ---- stopping ---------------------------------------------------------------------------------

/// The usual way to stop workers. A node that has lost the others only has the time until they
/// continue without it.
ELASTIC_DECL stop_plan agent_run::stop_in_time() const {
  stop_plan plan = usual_stop();
  const rendezvous_change* const change = round_end();
  if (change) plan.grace = std::min(plan.grace, change->grace);
  return plan;
}

ELASTIC_DECL task<void> agent_run::stop_usually() {
  const agent_telemetry::timed_step timer(telemetry_, "LocalElasticAgent._stop_workers");
  co_await stop_workers(stop_in_time());
}

/// Stops the workers by `plan`, or by the stop request if there is one or one arrives meanwhile.
ELASTIC_DECL task<void> agent_run::stop_workers(stop_plan plan) {
  const rendezvous_change* const change = round_end();
  return stop_.stop(plan, change ? change->grace : duration::max());
}

// ---- ending the job ---------------------------------------------------------------------------

ELASTIC_DECL run_result agent_run::finish_succeeded() {
  run_result result = finish(worker_state::succeeded, "all workers ended with success");
  result.return_values = group_.return_values();
  return result;
}

/// The job succeeded before this node could join or rejoin.
ELASTIC_DECL run_result agent_run::finish_late() {
  log_.warning("this node has nothing left to do: {}", end_reason_);
  return finish(worker_state::succeeded, end_reason_);
}

ELASTIC_DECL run_result agent_run::finish_given_up(const restart_ledger::decision& decision) {
  const std::string& cause = attempt_->change->reason;
  run_result result =
      finish(worker_state::failed, fmt::format("{}: {}", cause, decision.reason));
  result.is_hopeless = decision.is_hopeless;
  return result;
}

/// Workers failed, and the other nodes could not be told. They may continue without this node, so
/// it must not end the job, which it could do once it reached them again.
ELASTIC_DECL run_result agent_run::finish_unreported() {
  run_result result = finish(worker_state::failed, end_reason_);
  job_end_.reset();
  return result;
}

ELASTIC_DECL task<run_result> agent_run::finish_stopped() {
  const stop_request request = *stop_.request();
  co_await save_before_stop();
  co_await stop_workers(stop_in_time());
  run_result result = complete(stopped_result());
  if (request.is_node_bad) exclude_node(result.reason);
  co_return result;
}

/// Leaves the job because this node is bad. The job is not over: the others continue as after the
/// loss of a node.
ELASTIC_DECL task<run_result> agent_run::leave_job() {
  const std::string reason = *bad_node();
  log_.error("this node leaves the job: {}", reason);
  stop_others(reason, false);
  co_await stop_workers(stop_in_time());
  run_result result = finish(worker_state::failed, reason);
  job_end_.reset();
  result.left_as_bad = true;
  exclude_node(reason);
  co_return result;
}

ELASTIC_DECL void agent_run::exclude_node(const std::string& reason) {
  if (rendezvous_) rendezvous_->exclude_node(reason);
}

ELASTIC_DECL run_result agent_run::finish(worker_state state, std::string reason) {
  if (state == worker_state::failed) job_end_ = rendezvous_handler::job_end::failed;
  return complete(make_result(state, std::move(reason)));
}

/// Completes a result with the data that only a world of workers has.
ELASTIC_DECL run_result agent_run::complete(run_result result) {
  end_reason_ = result.reason;
  result.starts = starts_;
  result.replacements = epochs_.replacements();
  return result;
}

/// Leaves the rendezvous, however the run ended. If the job ended, this closes it for the other
/// nodes, too; an agent that was stopped or failed only leaves.
ELASTIC_DECL task<void> agent_run::leave_rendezvous() {
  std::exception_ptr failure;
  try {
    co_await stop_workers(stop_in_time());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await parts_->end();
  attempt_.reset();
  journal_.leave_rounds();
  if (rendezvous_) {
    if (job_end_) co_await run_and_log(rendezvous_->close(*job_end_, end_reason_));
    co_await run_and_log(rendezvous_->shutdown());
  }
  if (const std::string starts = starts_.text(); !starts.empty()) {
    log_.info("the workers' starts on this node: {}", starts);
  }
  if (!epochs_.replacements().empty()) log_.info("{}", epochs_.replacements().text());
  if (failure) std::rethrow_exception(failure);
}

/// Runs one step of leaving the rendezvous. A failure is only logged.
ELASTIC_DECL task<void> agent_run::run_and_log(task<void> step) {
  try {
    co_await std::move(step);
  } catch (const std::exception& failure) {
    log_.warning("the rendezvous could not be left in order: {}", failure.what());
  }
}

}  // namespace elastic::detail

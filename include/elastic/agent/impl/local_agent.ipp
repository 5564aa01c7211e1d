// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>

#include <elastic/agent/agent_extension.hpp>
#include <elastic/agent/detail/agent_journal.hpp>
#include <elastic/agent/detail/agent_step.hpp>
#include <elastic/agent/detail/agent_telemetry.hpp>
#include <elastic/agent/detail/arrivals.hpp>
#include <elastic/agent/detail/command_reply.hpp>
#include <elastic/agent/detail/inbox_service.hpp>
#include <elastic/agent/detail/job_pause.hpp>
#include <elastic/agent/detail/node_checker.hpp>
#include <elastic/agent/detail/program_environment.hpp>
#include <elastic/agent/detail/rejoin_machine.hpp>
#include <elastic/agent/detail/replacement_line.hpp>
#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/detail/role_link.hpp>
#include <elastic/agent/detail/round_agreement.hpp>
#include <elastic/agent/detail/run_files.hpp>
#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/endless.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/mailbox.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/detail/worker_liveness.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/stop_plan.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// One run of an agent, from its first round to its end. Everything runs on its strand.
class agent_run {
 public:
  agent_run(asio::any_io_executor strand, const worker_spec& spec,
            rendezvous_factory rendezvous, agent_services services,
            std::string notice, std::string meeting, bool job_may_grow)
      : spec_(spec),
        notice_(std::move(notice)),
        meeting_(std::move(meeting)),
        factory_(std::move(rendezvous)),
        rendezvous_(factory_.handler()),
        job_may_grow_(job_may_grow),
        extension_(make_extension(strand, services)),
        services_(by_extension(std::move(services))),
        log_(services_.log),
        strand_(strand),
        time_(*services_.time),
        files_(*services_.journal, time_, log_),
        group_(strand, spec, services_, files_.layout()),
        journal_(*services_.journal, spec, group_, time_),
        telemetry_(services_, spec, factory_.run_id(), factory_.backend()),
        pause_(rendezvous_, journal_, log_),
        ledger_(spec.max_restarts, spec.restart, spec.name_of("max_restarts")),
        started_(strand),
        fenced_(strand),
        stop_requested_(strand),
        requests_(strand),
        inspections_(strand) {
    // The other workers must stop whether the group restarts or the job ends, in the same way as by
    // `usual_stop`.
    group_.stop_on_failure({SIGTERM, spec.shutdown_timeout});
    if (extension_->looks_last()) {
      group_.look_last([this] { return extension_->last_look(); });
    }
    group_.on_step([this](std::int64_t step) {
      note_step(step);
      extension_->stepped(step);
    });
    group_.on_prepared([this] { extension_->prepared(); });
    group_.equip(
        [this](const worker_identity& worker, environment_map& variables) {
          extension_->change_environment(worker, variables);
        },
        [this](int local_rank) { return extension_->passed_descriptor(local_rank); });
  }

  agent_run(const agent_run&) = delete;
  agent_run& operator=(const agent_run&) = delete;

  /// Passes a signal on to the workers. Between two attempts there is none, and the signal is lost.
  void take(const signal_request& request) {
    log_.info("{} passed on to {} workers", signal_name(request.number),
              group_.running() + group_.starting());
    group_.signal(request.number);
  }

  /// Sends a signal to one worker, which may be on another node.
  void take(const rank_signal_request& request) {
    for (const worker_group::worker& entry : group_.workers()) {
      if (entry.identity.rank != request.rank || entry.pid == 0) continue;
      const auto slot = static_cast<std::size_t>(entry.identity.local_rank);
      std::string text = fmt::format("rank {} does not run", request.rank);
      if (!entry.end) {
        group_.signal(slot, request.number);
        text = fmt::format("{} sent to rank {} (local rank {}, pid {})",
                           signal_name(request.number), request.rank, slot, entry.pid);
      }
      if (request.reason.empty()) {
        log_.debug("{}", text);
      } else {
        log_.warning("{}: {}", request.reason, text);
        if (!entry.end) {
          journal_.note_fault(entry, request.number, fmt::format("{}: {}", request.reason, text));
        }
      }
    }
  }

  /// Queues a request to the workers over the control channel.
  void take(const worker_request& request) {
    if (group_.state() == worker_state::healthy) requests_.push({request, nullptr});
  }

  void take(const std::shared_ptr<pending_command>& pending) {
    switch (pending->command().what) {
      case job_command::kind::pause: return pause(pending);
      case job_command::kind::resume: return resume(*pending);
      case job_command::kind::checkpoint: return ask_for_checkpoint(pending);
      case job_command::kind::drain: return drain(*pending);
      case job_command::kind::stacks: return inspect(pending);
    }
  }

  /// Takes a stop request. The first one wakes the coroutine that carries it out.
  void take(const stop_request& request) {
    if (stop_ && !request.escalates) return;
    const bool is_urgent = stop_.has_value() || request.signal == SIGKILL;
    const char* effect = is_urgent ? "killing the workers" : "stopping the workers";
    if (group_.running() == 0) effect = "no worker runs, so this node only stops waiting";
    const std::string reason = request.reason.empty() ? "stop requested" : request.reason;
    log_.warning("{}: {}", reason, effect);
    if (!stop_) stop_ = request;
    journal_.note_stop_request(reason, is_urgent ? SIGKILL : request.signal);
    if (is_urgent) {
      group_.kill();
    } else {
      group_.end_hooks();
      const bool saves = request.signal == SIGTERM && spec_.preempt_grace > duration::zero();
      if (request.is_node_bad) stop_others(request.reason, saves);
    }
    stop_requested_.set();
  }

  /// Runs the job on this node to its end. Then no worker is left, and the node has left the
  /// rendezvous.
  task<run_result> run() {
    agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent.run");
    const time_point began = time_.now();
    journal_.note_start(factory_.run_id(), factory_.backend());
    std::optional<run_result> result;
    std::string breakdown = "unknown error";
    std::exception_ptr failure;
    try {
      task<run_result> living = with_cleanup(run_to_stop(), leave_rendezvous());
      co_await race(keep_result(std::move(living), result), kill_at_fence());
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
    if (result->state == worker_state::stopped) timer.fail();
    report(*result);
    co_return std::move(*result);
  }

 private:
  std::unique_ptr<agent_extension> make_extension(asio::any_io_executor strand,
                                                  const agent_services& services) {
    if (!services.extension) return std::make_unique<agent_extension>();
    agent_extension::context context;
    context.strand = std::move(strand);
    context.launcher = services.launcher;
    context.time = services.time;
    context.log = services.log;
    context.local_world_size = spec_.nproc_per_node;
    context.job_may_grow = job_may_grow_;
    context.first_workers = [this] { return group_.expected_processes(factory_.run_id()); };
    context.workers = [this] { return group_.attempt_workers(); };
    context.end_hung = [this](int local_rank, const std::string& reason) {
      group_.end_hung(local_rank, reason);
    };
    context.journal = services.journal;
    context.process_ended = [this](const exit_status& end) {
      if (end.signal() == SIGKILL) group_.forgive_oom_kill();
    };
    return services.extension(std::move(context));
  }

  /// Replaces the launcher by that of the extension, if it has one.
  agent_services by_extension(agent_services services) {
    if (auto launcher = extension_->launcher()) services.launcher = std::move(launcher);
    return services;
  }

  /// One attempt, from the round that it belongs to. Each round has a new one.
  struct attempt {
    rendezvous_round round;
    /// Why the round must end; empty while it need not.
    std::optional<rendezvous_change> change;
    /// The other nodes were informed of how the workers ended, as far as they could be.
    bool is_reported = false;
    /// Some workers of the job continue in it.
    bool keeps_survivors = false;
    /// The same, and this node took part in the previous epoch.
    bool replaces = false;
    /// What this node has told workers of other roles about its own; empty: nothing yet.
    std::string places = {};
  };

  /// Measures how long the workers take to regain the furthest step that any worker of this node
  /// has reported.
  struct catch_up {
    std::optional<std::int64_t> furthest;
    /// When this node learned that the interrupted epoch had ended; empty: the step is regained.
    std::optional<time_point> since;
  };

  /// A request to the workers, and the command that waits for its outcome (null: none).
  struct worker_order {
    worker_request request;
    std::shared_ptr<pending_command> command;
  };

  // ---- commands ---------------------------------------------------------------------------------

  void pause(const std::shared_ptr<pending_command>& pending) {
    if (stop_) return pending->settle(false, "not paused: this node leaves the job");
    if (is_between_epochs()) return pause_later(pending);
    pause_.begin(pending);
    // At the exit barrier, the other nodes may still succeed before they learn of the pause.
    if (group_.running() + group_.starting() == 0 && !is_at_exit_barrier_) pause_.settle();
  }

  /// Whether workers are leaving an epoch or wait for the next one.
  bool is_between_epochs() const {
    if (!group_.stayers().is_on() || group_.running() == 0) return false;
    const rendezvous_change* const change = round_end();
    return group_.stayers().ready() > 0 || (change && !ends_all(*change));
  }

  /// Whether a change pauses the whole job. A pause without checkpoints comes from a node that
  /// leaves the job.
  static bool ends_all(const rendezvous_change& change) {
    return change.is_pause && change.saves_first;
  }

  /// Postpones a pause: workers that wait for the next epoch can neither save now nor give up their
  /// memory.
  void pause_later(const std::shared_ptr<pending_command>& pending) {
    if (pause_for_epoch_) return pending->settle(false, "not paused: a pause is asked for already");
    log_.warning("the job pauses when the workers have begun the next epoch");
    pause_for_epoch_ = pending;
  }

  void resume(pending_command& pending) {
    if (!pause_for_epoch_) return pause_.resume(pending);
    std::exchange(pause_for_epoch_, nullptr)->settle(false, "not paused: resumed before");
    pending.settle(true, "the job is not paused");
  }

  void ask_for_checkpoint(const std::shared_ptr<pending_command>& pending) {
    if (group_.state() != worker_state::healthy || stop_) {
      return pending->settle(false, "no checkpoint: no workers run on this node now");
    }
    requests_.push({{worker_request::kind::checkpoint, pending->command().within}, pending});
  }

  void inspect(const std::shared_ptr<pending_command>& pending) {
    if (group_.state() != worker_state::healthy) {
      return pending->settle(false, "no workers run on this node now");
    }
    inspections_.push(pending);
  }

  /// Stops the workers of the other nodes. They would fail once their peers here end, which would
  /// count as a failure of the job. They get time to save if the workers of this node do.
  void stop_others(const std::string& why, bool saves_first) {
    if (!attempt_ || attempt_->round.group_world_size < 2 || group_.running() == 0) return;
    try {
      const std::string reason = fmt::format("paused while {} leaves: {}", journal_.node(), why);
      rendezvous_->pause(reason, saves_first);
    } catch (const error& refusal) {
      log_.debug("the other nodes are not told that this one leaves: {}", refusal.what());
    }
  }

  /// Saves a checkpoint before a pause. All nodes do so at about the same time.
  task<void> save_before_pause() {
    const duration within =
        spec_.preempt_grace > duration::zero() ? spec_.preempt_grace : job_command().within;
    if (group_.state() == worker_state::healthy) co_await save(within);
  }

  /// Does the same as a drain file.
  void drain(pending_command& pending) {
    if (stop_) return pending.settle(true, "this node leaves the job already");
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
  task<run_result> run_to_stop() {
    std::optional<run_result> result;
    std::exception_ptr closed;
    try {
      result = co_await run_attempts();
    } catch (const error& failure) {
      if (failure.code() != errc::rendezvous_closed) throw;
      closed = std::current_exception();
    }
    if (result) co_return std::move(*result);
    if (!stop_) {
      const time_point limit = deadline_after(time_.now(), limits::stop_request_patience);
      co_await race(time_.sleep_until(limit), stop_requested_.wait());
    }
    if (!stop_) std::rethrow_exception(closed);
    co_return co_await finish_stopped();
  }

  /// Runs attempts until the job ends on this node.
  task<run_result> run_attempts() {
    using action = agent_step::action;
    task<void> opening =
        files_.open(factory_.run_id(), spec_.log_dir, spec_.log_name, spec_.journal);
    co_await race(std::move(opening), stop_requested_.wait());
    co_await begin_attempt();
    emit_early_outcome();
    for (;;) {
      journal_.note_verdict();
      const agent_view view = look();
      const agent_step step = next_step(view);
      log_.debug("next step of the agent: {}", step.reason);
      switch (step.what) {
        case action::watch: co_await watch(); break;
        case action::wait_for_others: co_await wait_for_others(); break;
        case action::report_failure: co_await report_failure(); break;
        case action::restart:
          log_change(*view.after_round);
          co_await telemetry_.timed("SimpleElasticAgent._restart_workers",
                                    restart(view.after_round->delay));
          emit_early_outcome();
          break;
        case action::give_up:
          log_change(*view.after_round);
          co_await stop_usually();
          note_cause();
          if (!stop_) co_return finish_given_up(*view.after_round);
          break;
        case action::leave_job: co_return co_await leave_job();
        case action::stop: co_return co_await finish_stopped();
        case action::finish_succeeded: co_return finish_succeeded();
        case action::finish_failed: co_return finish_unreported();
        case action::finish_late: co_return finish_late();
      }
    }
  }

  /// Kills the workers of each attempt once the other nodes may continue without this one.
  task<void> kill_at_fence() {
    for (;;) {
      co_await started_.wait();
      started_.reset();
      co_await race(rendezvous_->wait_for_fence(), started_.wait());
      if (started_.is_set()) continue;
      if (group_.running() > 0 && !group_.stayers().are_apart()) {
        log_.error("killing the workers: other nodes may go on without this one");
        journal_.note(job_event::type::fence_reached, "other nodes may go on without this one");
      }
      // Workers that have left their epoch disturb no other node.
      if (!group_.stayers().are_apart()) group_.kill();
      fenced_.set();
    }
  }

  agent_view look() const {
    agent_view view;
    view.is_late = is_late_;
    view.is_stopping = stop_.has_value();
    view.is_node_bad = bad_node().has_value();
    view.workers = group_.state();
    view.is_reported = attempt_ && attempt_->is_reported;
    if (const rendezvous_change* change = round_end()) view.after_round = decide(*change);
    return view;
  }

  /// Why this node must leave the job; empty: it need not.
  const std::optional<std::string>& bad_node() const {
    return failed_check_ ? failed_check_ : group_.bad_node();
  }

  const rendezvous_change* round_end() const {
    return attempt_ && attempt_->change ? &*attempt_->change : nullptr;
  }

  restart_ledger::decision decide(const rendezvous_change& change) const {
    if (change.kind == rendezvous_change::cause::worker_failed && group_.no_restart()) {
      restart_ledger::decision refused;
      refused.reason = *group_.no_restart();
      refused.is_hopeless = group_.is_hopeless();
      return refused;
    }
    // A worker that ended because of another node's failure does not influence the decision.
    const worker_group::worker* const failed =
        change.on_other_node ? nullptr : group_.first_failed();
    const auto status = failed ? std::optional(failed->end->status) : std::nullopt;
    return ledger_.decide(change.kind, status, time_.now());
  }

  // ---- beginning an attempt ---------------------------------------------------------------------

  /// Returns once the workers run, a stop is requested, or nothing is left to do.
  task<void> begin_attempt() {
    if (stop_) co_return;
    if (!spec_.node_check.command.empty()) co_await race(check_node(), stop_requested_.wait());
    if (stop_ || failed_check_) co_return;
    try {
      co_await race(
          telemetry_.timed("SimpleElasticAgent._initialize_workers", join_round_and_start()),
          stop_requested_.wait());
    } catch (const error& failure) {
      if (failure.code() != errc::rendezvous_finished) throw;
      is_late_ = true;
      end_reason_ = failure.what();
    }
  }

  /// Runs the user's command that checks whether this node may take part.
  task<void> check_node() {
    task<node_check_outcome> looking =
        look_at_node(strand_, spec_.node_check, program_environment(spec_.environment),
                     spec_.directory, {services_.hook_launcher, services_.time, log_});
    const node_check_outcome outcome = co_await std::move(looking);
    failed_check_ = judge(spec_.node_check, outcome);
    if (!failed_check_) log_.info("the node check has ended well");
  }

  task<void> join_round_and_start() {
    pause_.settle();
    std::optional<assigned_ranks> ranks;
    co_await race(meet(ranks), endless(extension_->prepare_attempt()));
    if (!ranks) co_return;
    co_await end_survivors();
    if (stop_) co_return;
    const rendezvous_round round = attempt_->round;
    const time_point starting = time_.now();
    journal_.note(job_event::type::workers_starting);
    if (attempt_->keeps_survivors) {
      extension_->begin_replacement(round);
    } else {
      extension_->begin_attempt(round);
    }
    group_.on_start([this, round, ranks = *ranks, starting] {
      const std::optional<worker_starts> starts = extension_->starts();
      journal_.note_workers(round, ranks, starts, starting);
      if (starts) starts_.add(*starts);
    });
    const bool all_run = co_await start_before_fence(round, *ranks);
    if (!all_run) co_return;
    // The last workers may have been started after the fence.
    started_.set();
    ledger_.started(time_.now());
    telemetry_.record_start(group_);
    const time_point ended = std::exchange(epoch_ended_, std::nullopt).value_or(starting);
    catch_up_.since = ended;
    worker_observer::started_workers start{round.round,      ranks->world_size,
                                           round.group_rank, round.group_world_size,
                                           restarts_,        spec_.max_restarts};
    if (attempt_->replaces) take_replacement(start, ended);
    group_.announce(start);
    if (!notice_.empty()) log_.warning("{}", std::exchange(notice_, {}));
    log_.info("round {}: node {} of {}, ranks {} to {} of {}, master {}:{}", round.round,
              round.group_rank, round.group_world_size, ranks->base_rank,
              ranks->base_rank + spec_.nproc_per_node - 1, ranks->world_size, round.master.address,
              round.master.port);
    if (attempt_->replaces) log_replacement(start.replaced, time_.now() - ended);
    if (pause_for_epoch_) pause(std::exchange(pause_for_epoch_, nullptr));
  }

  /// Meets the other nodes. `ranks` stays empty if the job's restarts are used up.
  task<void> meet(std::optional<assigned_ranks>& ranks) {
    if (group_.workers().empty()) co_await wait_for_extension(extension_->join_delay());
    const time_point began = time_.now();
    journal_.note(job_event::type::rendezvous_started);
    std::optional<std::optional<assigned_ranks>> joined;
    task<void> joining =
        keep_result(telemetry_.timed("SimpleElasticAgent._rendezvous", join_round()), joined);
    if (meeting_.empty()) {
      co_await std::move(joining);
    } else {
      co_await race(std::move(joining), report_wait());
    }
    if (!joined || !*joined) co_return;
    ranks = **joined;
    restarts_ = ledger_.failures();
    journal_.begin_attempt(restarts_);
    pause_.forget();
    journal_.note_round(attempt_->round, *ranks, began);
  }

  /// Starts the workers. Result: false if the other nodes may meanwhile continue without this one;
  /// no worker runs then.
  task<bool> start_before_fence(rendezvous_round round, assigned_ranks ranks) {
    fenced_.reset();
    started_.set();
    bool all_run = false;
    task<void> working = attempt_->keeps_survivors
                             ? group_.rejoin(round, ranks, factory_.run_id(), restarts_)
                             : group_.start(round, ranks, factory_.run_id(), restarts_);
    task<void> starting = note_end(std::move(working), all_run);
    co_await race(telemetry_.timed("LocalElasticAgent._start_workers", std::move(starting)),
                  fenced_.wait());
    co_return all_run;
  }

  static task<void> note_end(task<void> work, bool& has_ended) {
    co_await std::move(work);
    has_ended = true;
  }

  /// Logs from time to time that this node waits for others, so that its silence is explained.
  task<void> report_wait() {
    const time_point begun = time_.now();
    for (std::chrono::seconds waited(5);; waited += std::chrono::seconds(30)) {
      co_await time_.sleep_until(begun + waited);
      if (const std::optional<std::string>& why = pause_.reason()) {
        log_.warning("the job is {}, for {} s", *why, waited.count());
        continue;
      }
      const std::string obstacle = rendezvous_ ? rendezvous_->obstacle() : std::string();
      if (!obstacle.empty()) {
        log_.warning("waiting for {} s: {}", waited.count(), obstacle);
        continue;
      }
      log_.warning("waiting for other nodes for {} s: {}", waited.count(), meeting_);
    }
  }

  /// Joins a round and learns the ranks of this node's workers; repeats that if a node is lost
  /// before all have exchanged their ranks. Result: empty if the job's restarts are used up, which
  /// a node that had lost the others may learn only now.
  task<std::optional<assigned_ranks>> join_round() {
    for (;;) {
      co_await telemetry_.phase("RENDEZVOUS", next_round());
      if (ledger_.is_used_up(time_.now())) {
        attempt_->change =
            rendezvous_change{rendezvous_change::cause::worker_failed, "workers of the job failed"};
        co_return std::nullopt;
      }
      std::optional<assigned_ranks> ranks;
      co_await race(
          keep_result(telemetry_.timed("SimpleElasticAgent._assign_worker_ranks",
                                       telemetry_.phase("ASSIGN_WORKER_RANKS", agree_in_round())),
                      ranks),
          note_change());
      if (ranks) co_return ranks;
      if (ledger_.is_used_up(time_.now())) co_return std::nullopt;
      log_.warning("joining another round: {}", attempt_->change->what);
    }
  }

  task<void> next_round() {
    const bool is_first = !attempt_;
    if (is_first) {
      task<std::shared_ptr<rendezvous_handler>> making = factory_.make(rendezvous_);
      rendezvous_ = co_await std::move(making);
    }
    rendezvous_round round = co_await rendezvous_->next_round();
    check_round(round, factory_.backend());
    journal_.begin_round(round.round);
    attempt_ = attempt{std::move(round), std::nullopt, false, false, false};
    const int restarts = attempt_->round.restarts;
    if (is_first) ledger_.begin_at(restarts);
    ledger_.count(restarts, time_.now());
    telemetry_.set_restarts(ledger_.failures());
  }

  task<assigned_ranks> agree_in_round() {
    role_info role;
    role.role = spec_.role;
    role.local_world_size = spec_.nproc_per_node;
    role.is_same_everywhere =
        find_variable(spec_.environment, "TORCH_ELASTIC_WORKER_IDENTICAL") == "1";
    std::optional<node_epoch> self;
    if (group_.stayers().is_on() && factory_.backend() == "static" &&
        attempt_->round.group_world_size > 1) {
      throw error(errc::invalid_argument,
                  fmt::format("{} replace: several nodes of the static rendezvous have one store "
                              "for all rounds; use the backend c10d",
                              spec_.name_of("on_failure")));
    }
    if (group_.stayers().is_on()) {
      last_epoch_.survivors = group_.stayers().ready();
      self = last_epoch_;
    }
    place_teller places;
    if (services_.roles) {
      places = [this](const round_agreement& agreed) { return places_in(agreed); };
    }
    task<round_agreement> agreeing =
        agree_on_round(services_.time, attempt_->round, role, self, places);
    const round_agreement agreement = co_await std::move(agreeing);
    attempt_->round.master = agreement.master;
    if (agreement.epoch) take_epoch(*agreement.epoch);
    if (services_.roles) services_.roles->met(agreement.places);
    co_await extension_->agree(attempt_->round, agreement.ranks);
    co_return agreement.ranks;
  }

  /// Where the workers of this node will be, for workers of other roles. Returns the same text when
  /// called again in the attempt.
  std::string places_in(const round_agreement& agreed) {
    std::string& places = attempt_->places;
    if (!places.empty()) return places;
    std::vector<std::size_t> fresh;
    const bool keeps = agreed.epoch && agreed.epoch->keeps_survivors;
    for (std::size_t slot = 0; slot < static_cast<std::size_t>(spec_.nproc_per_node); ++slot) {
      if (!keeps || !group_.stayers().is_ready(slot)) fresh.push_back(slot);
    }
    services_.roles->choose_ports(fresh);
    return places = services_.roles->places(agreed.ranks.base_rank);
  }

  // ---- epochs: workers that outlive a round -----------------------------------------------------

  void take_epoch(const epoch_agreement& agreement) {
    const bool is_first = last_epoch_.round < 0;
    if (!agreement.is_possible && is_first) {
      throw error(errc::invalid_argument,
                  fmt::format("{} replace: {}", spec_.name_of("on_failure"), agreement.reason));
    }
    if (!agreement.keeps_survivors && !is_first) {
      log_.warning("all workers of the job start again: {}", agreement.reason);
      journal_.note(job_event::type::replacement_abandoned, agreement.reason);
    }
    rendezvous_round& round = attempt_->round;
    round.group_rank = agreement.place;
    attempt_->keeps_survivors = agreement.keeps_survivors;
    attempt_->replaces = agreement.keeps_survivors && !is_first;
    last_epoch_ = node_epoch();
    last_epoch_.term = round.term;
    last_epoch_.round = round.round;
    last_epoch_.place = agreement.place;
  }

  /// Makes the workers that can stay leave their epoch and stops the others; stops all if the whole
  /// job restarts.
  task<void> end_epoch() {
    const rendezvous_change& change = *attempt_->change;
    std::optional<std::string> obstacle;
    if (!group_.bad_node() && group_.stayers().is_on()) {
      task<std::string> leaving = group_.leave_epoch(ends_all(change), change.grace);
      co_await race(keep_result(std::move(leaving), obstacle), stop_requested_.wait());
      if (stop_ || (obstacle && obstacle->empty())) co_return;
      last_epoch_.obstacle = obstacle.value_or("a node stops its workers");
    }
    co_await stop_usually();
  }

  /// Reports the new workers of this node to the journal, the events and the result.
  void take_replacement(worker_observer::started_workers& start, time_point ended) {
    for (const worker_group::worker& entry : group_.workers()) {
      if (entry.has_stayed) {
        ++start.stayed;
        continue;
      }
      start.replaced.push_back(entry.identity.rank);
      replacements_.add(entry.identity.rank);
    }
    if (last_change_) journal_.note_replacement(*last_change_, ended);
    telemetry_.record_replacement(start.replaced.size(), time_.now() - ended);
  }

  void log_replacement(const std::vector<int>& replaced, duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    if (replaced.empty()) {
      return log_.info("all workers of this node went on after {:.3f} s", seconds);
    }
    log_.info("rank{} {} of this node {} a new process after {:.3f} s; the others went on",
              replaced.size() == 1 ? "" : "s", rank_ranges(replaced),
              replaced.size() == 1 ? "has" : "have each", seconds);
  }

  /// Notes when the agent first learned that the epoch is over.
  void note_epoch_end() {
    if (epoch_ended_) return;
    epoch_ended_ = time_.now();
    catch_up_.since.reset();
    const std::optional<std::int64_t> step = group_.furthest_step();
    if (step) catch_up_.furthest = std::max(catch_up_.furthest.value_or(*step), *step);
  }

  void note_step(std::int64_t step) {
    if (!catch_up_.since || step < catch_up_.furthest.value_or(step)) return;
    journal_.note_step(step, *std::exchange(catch_up_.since, std::nullopt));
  }

  /// Whether a failure leads to a replacement, as far as this node knows.
  bool may_replace(const restart_ledger::decision& decision, std::size_t failed) const {
    if (!decision.restart || !group_.stayers().is_on() || group_.workers().empty()) return false;
    const auto world = static_cast<std::size_t>(group_.workers().front().identity.world_size);
    return failed < world && !attempt_->change->is_pause && group_.epoch_obstacle().empty();
  }

  /// Stops survivors if the nodes have agreed that all workers restart.
  task<void> end_survivors() {
    if (!attempt_->keeps_survivors && group_.running() > 0) co_await stop_usually();
  }

  // ---- while workers run ------------------------------------------------------------------------

  /// Returns once the workers' outcome is known, the round must end or a stop is requested.
  task<void> watch() {
    std::exception_ptr closed;
    try {
      co_await race(group_.wait_for_outcome(), until_round_ends(), stop_requested_.wait(),
                    report_state(), pass_on_requests(), answer_inspections(),
                    group_.watch_uninterruptible(), group_.watch_work(), group_.answer_questions(),
                    report_missing(), run_beside_workers());
    } catch (const error& failure) {
      if (failure.code() != errc::rendezvous_closed) throw;
      closed = std::current_exception();
    }
    if (group_.state() != worker_state::succeeded) note_epoch_end();
    // Pending requests were meant for these workers, not for the next ones.
    requests_.clear();
    inspections_.clear();
    if (closed) {
      // All nodes may have been asked to stop, and the one that hosts the rendezvous may end first.
      co_await stop_usually();
      if (!stop_) std::rethrow_exception(closed);
    }
    if (!stop_) emit_state();
    if (!stop_ && group_.state() != worker_state::succeeded) extension_->end_attempt();
  }

  /// Logs once which workers have not connected to the store through which they find each other.
  task<void> report_missing() {
    const rendezvous_round::master_endpoint master = attempt_->round.master;
    if (master.served_by_agent) {
      co_await time_.sleep_until(deadline_after(time_.now(), arrival_patience));
      arrivals seen;
      seen.store = to_text(endpoint{master.address, master.port});
      std::vector<worker_arrival> running;
      for (const worker_group::worker& each : group_.workers()) {
        seen.world = each.identity.world_size;
        seen.do_all_run = seen.do_all_run && !each.end;
        if (!each.end && each.pid != 0) running.push_back({each.identity.rank, each.pid, {}});
      }
      task<std::vector<worker_arrival>> looking =
          look_for_arrivals(std::move(running), master.port);
      seen.own = co_await std::move(looking);
      seen.come = rendezvous_->arrived_workers();
      const std::string missing = missing_workers(seen);
      if (!missing.empty()) log_.warning("{}", missing);
    }
    co_await group_.wait_for_outcome();
  }

  /// Returns once the round must end. Healthy workers continue for as long as the extension asks.
  task<void> until_round_ends() {
    co_await note_change();
    // Workers that stay need no standbys.
    if (group_.stayers().obstacle().empty()) co_return;
    co_await wait_for_extension(extension_->stop_delay(*attempt_->change));
  }

  task<void> wait_for_extension(duration within) {
    if (within <= duration::zero()) co_return;
    co_await with_deadline(time_, deadline_after(time_.now(), within), extension_->until_ready());
  }

  /// Runs the extension beside the workers. Ends only by cancellation or by a stop.
  task<void> run_beside_workers() {
    // With a window, restarts that were used up may become available again.
    const bool may_change = job_may_grow_ || attempt_->round.group_world_size > 1;
    const bool is_windowed = spec_.restart.window > duration::zero();
    task<void> working = extension_->beside_workers(may_change || is_windowed ||
                                                    ledger_.has_restart_left(time_.now()));
    co_await std::move(working);
    co_await stop_requested_.wait();
  }

  task<void> note_change() { take_change(co_await rendezvous_->wait_for_change()); }

  void take_change(rendezvous_change change) {
    note_epoch_end();
    last_change_ = change;
    ledger_.reached(group_.furthest_step());
    ledger_.count(change.restarts, time_.now());
    note_missing_steps();
    journal_.note_round_end(change, ledger_.failures());
    if (change.is_pause) pause_.note(change.what);
    attempt_->change = std::move(change);
  }

  /// Logs once that this node cannot tell whether the job makes progress.
  void note_missing_steps() {
    if (!ledger_.lacks_steps() || std::exchange(are_missing_steps_noted_, true)) return;
    log_.warning(
        "{} {}: no worker of this node has reported a step, so that this node cannot tell whether "
        "the job gets on",
        spec_.name_of("restart.while_progress"), spec_.restart.while_progress);
  }

  /// Emits the periodic state metrics. Without a handler it waits forever.
  task<void> report_state() {
    if (!services_.metrics) co_await time_.sleep_until(time_point::max());
    for (;;) {
      co_await time_.sleep_until(deadline_after(time_.now(), spec_.monitor_interval));
      emit_state();
    }
  }

  void emit_state() { telemetry_.emit_state(group_.state(), spec_.max_restarts - restarts_); }

  /// Emits the state of workers that are never watched because their outcome was known as soon as
  /// all were started.
  void emit_early_outcome() {
    const bool has_begun = !stop_ && !is_late_ && !failed_check_ && !round_end();
    if (has_begun && group_.state() != worker_state::healthy) emit_state();
  }

  /// Passes the requests of `ask` on to the workers. Ends only by cancellation.
  task<void> pass_on_requests() {
    for (;;) {
      const worker_order order = co_await requests_.pop();
      switch (order.request.what) {
        case worker_request::kind::pause: group_.pause(); break;
        case worker_request::kind::resume: group_.resume(); break;
        case worker_request::kind::checkpoint: co_await save_as_ordered(order); break;
      }
    }
  }

  /// Answers inspections concurrently with other requests, which may take long. Ends only by
  /// cancellation.
  task<void> answer_inspections() {
    for (;;) {
      const std::shared_ptr<pending_command> pending = co_await inspections_.pop();
      const job_command::outcome outcome = co_await extension_->carry_out(pending->command());
      pending->settle(outcome.is_done, outcome.text);
    }
  }

  task<void> save_as_ordered(worker_order order) {
    const job_command::outcome outcome = co_await save(order.request.within);
    if (order.command) order.command->settle(outcome.is_done, outcome.text);
  }

  /// Asks the workers to save a checkpoint, and logs the outcome.
  task<job_command::outcome> save(duration within) {
    const time_point began = time_.now();
    const checkpoint_outcome outcome = co_await group_.checkpoint(within);
    const duration elapsed = time_.now() - began;
    journal_.note_checkpoint(outcome, began);
    job_command::outcome answer;
    if (outcome.asked == 0) {
      answer.text = "no worker accepts requests for a checkpoint";
      log_.info("{}", answer.text);
      co_return answer;
    }
    answer.is_done = outcome.saved == outcome.asked;
    answer.text = fmt::format("checkpoint: saved by {} of {} workers in {}", outcome.saved,
                              outcome.asked, worker_liveness::text_of(elapsed));
    log_.info("{}", answer.text);
    for (const std::string& problem : outcome.problems) {
      log_.warning("checkpoint: {}", problem);
      answer.text += "; " + problem;
    }
    co_return answer;
  }

  // ---- ending an attempt ------------------------------------------------------------------------

  task<void> wait_for_others() {
    // The workers have ended. The endless grace period waits for a slow reader of their output.
    co_await stop_workers({SIGKILL, duration::max()});
    co_await wait_at_exit_barrier();
    attempt_->is_reported = true;
  }

  /// Returns once the other nodes have succeeded, too, or the round must end.
  task<void> wait_at_exit_barrier() {
    const time_point began = time_.now();
    const time_point deadline = deadline_after(began, spec_.exit_barrier_timeout);
    journal_.note(job_event::type::exit_barrier_started);
    bool has_passed = false;
    is_at_exit_barrier_ = true;
    try {
      task<void> barrier = rendezvous_->exit_barrier();
      task<void> waiting =
          keep_bool(with_deadline(time_, deadline, std::move(barrier)), has_passed);
      co_await race(std::move(waiting), note_change(), stop_requested_.wait());
    } catch (const error& failure) {
      if (failure.code() == errc::rendezvous_closed) throw;
      log_.warning("cannot wait for the other agents at the end: {}", failure.what());
      is_at_exit_barrier_ = false;
      journal_.note_exit_barrier("failed", failure.what(), began);
      co_return;
    }
    is_at_exit_barrier_ = false;
    std::string how = attempt_->change || stop_ ? "changed" : "timed_out";
    if (has_passed) how = "passed";
    journal_.note_exit_barrier(std::move(how), "", began);
    if (has_passed) {
      job_end_ = rendezvous_handler::job_end::succeeded;
      attempt_->change.reset();
    } else if (!attempt_->change && !stop_) {
      log_.warning("some other agents did not end within the exit barrier's time-out");
    }
  }

  static task<void> keep_bool(task<bool> work, bool& result) { result = co_await std::move(work); }

  task<void> report_failure() {
    co_await race(report_first_failure(), stop_requested_.wait());
    attempt_->is_reported = true;
  }

  task<void> report_first_failure() {
    bool is_sent = true;
    try {
      take_change(co_await rendezvous_->report_failure(first_failure()));
    } catch (const error& failure) {
      is_sent = false;
      end_reason_ = failure.what();
    }
    // If the others cannot be reached, no attempt follows; this node still reports its own failure.
    if (!is_sent) co_await stop_workers(usual_stop());
  }

  /// The first failure, as a text for the other nodes.
  std::string first_failure() const {
    const worker_group::worker* const first = group_.first_failed();
    if (!first) return "workers failed";
    const int rank = first->identity.rank;
    if (!first->hung.empty()) return fmt::format("rank {} was hung: {}", rank, first->hung);
    return fmt::format("rank {} ended: {}", rank, first->end->status.text());
  }

  /// Notes what was left by the worker whose failure ended the attempt.
  void note_cause() {
    const rendezvous_change* const change = round_end();
    if (!change || !change->on_other_node) journal_.note_cause();
  }

  void log_change(const restart_ledger::decision& decision) {
    std::vector<const worker_group::worker*> failed = group_.failed();
    // Leaves out workers that the agent stopped itself.
    std::erase_if(failed, [](const worker_group::worker* entry) {
      return entry->stopped_by_agent && entry->hung.empty();
    });
    const bool replaces = may_replace(decision, failed.size());
    journal_.note_decision(decision, ledger_.failures(), replaces);
    if (replaces) {
      return log_.warning("{}", replacement_line(failed, attempt_->change->what, decision.reason));
    }
    for (const worker_group::worker* const entry : failed) {
      log_.warning("{} rank {} (local rank {}, pid {}) ended: {}{}{}", entry->identity.role_name,
                   entry->identity.rank, entry->identity.local_rank, entry->pid,
                   entry->end->status.text(), entry->hung.empty() ? "" : ", hung: ", entry->hung);
    }
    log_.warning("{}: {}{}", decision.restart ? "restarting the workers" : "stopping the workers",
                 failed.empty() ? attempt_->change->what + ": " : "", decision.reason);
  }

  /// Ends the attempt and waits for `delay` before the next, unless a stop is requested meanwhile.
  task<void> restart(duration delay) {
    if (attempt_->change->saves_first) co_await race(save_before_pause(), stop_requested_.wait());
    co_await end_epoch();
    requests_.clear();
    note_cause();
    if (delay > duration::zero() && !stop_) {
      co_await race(time_.sleep_until(deadline_after(time_.now(), delay)), stop_requested_.wait(),
                    endless(extension_->prepare_attempt()));
    }
    if (!stop_) co_await begin_attempt();
  }

  // ---- stopping ---------------------------------------------------------------------------------

  /// The usual way to stop workers. A node that has lost the others only has the time until they
  /// continue without it.
  stop_plan usual_stop() const {
    duration grace = spec_.shutdown_timeout;
    if (const rendezvous_change* change = round_end()) grace = std::min(grace, change->grace);
    return {SIGTERM, grace};
  }

  task<void> stop_usually() {
    return telemetry_.timed("LocalElasticAgent._stop_workers", stop_workers(usual_stop()));
  }

  /// Stops the workers by `plan`, or by the stop request if there is one or one arrives meanwhile.
  task<void> stop_workers(stop_plan plan) { return journal_.time_stop(plan, carry_out(plan)); }

  task<void> carry_out(stop_plan plan) {
    if (!stop_) co_await race(stop_after_hooks(plan), stop_requested_.wait());
    if (!stop_) co_return;
    plan.signal = stop_->signal;
    plan.grace = stop_->grace.value_or(spec_.shutdown_timeout);
    co_await group_.stop(plan);
  }

  /// Stops the workers after the hooks that inspect hung workers. The hooks have until their
  /// deadline, as long as the other nodes wait.
  task<void> stop_after_hooks(stop_plan plan) {
    const time_point began = time_.now();
    const rendezvous_change* const change = round_end();
    const duration limit = change ? change->grace : duration::max();
    co_await group_.finish_hooks(limit);
    plan.grace = std::min(plan.grace, std::max(limit - (time_.now() - began), duration::zero()));
    co_await group_.stop(plan);
  }

  /// On preemption, lets the workers save a checkpoint before they are stopped. A second stop
  /// request kills the workers, which ends the wait.
  task<void> save_before_stop(int signal) {
    const duration within = spec_.preempt_grace;
    if (signal != SIGTERM || within <= duration::zero()) co_return;
    const bool is_between = group_.stayers().is_on() && group_.stayers().ready() > 0;
    if (group_.state() != worker_state::healthy || is_between) co_return;
    log_.info("asking the workers for a checkpoint within {}", worker_liveness::text_of(within));
    co_await save(within);
  }

  // ---- ending the job ---------------------------------------------------------------------------

  run_result finish_succeeded() {
    run_result result = finish(worker_state::succeeded, "all workers ended with success");
    result.return_values = group_.return_values();
    return result;
  }

  /// The job succeeded before this node could join or rejoin.
  run_result finish_late() {
    log_.warning("this node has nothing left to do: {}", end_reason_);
    return finish(worker_state::succeeded, end_reason_);
  }

  run_result finish_given_up(const restart_ledger::decision& decision) {
    run_result result = finish(worker_state::failed,
                               fmt::format("{}: {}", attempt_->change->what, decision.reason));
    result.is_hopeless = decision.is_hopeless;
    return result;
  }

  /// Workers failed, and the other nodes could not be told. They may continue without this node, so
  /// it must not end the job, which it could do once it reached them again.
  run_result finish_unreported() {
    run_result result = finish(worker_state::failed, end_reason_);
    job_end_.reset();
    return result;
  }

  task<run_result> finish_stopped() {
    const stop_request request = *stop_;
    co_await save_before_stop(request.signal);
    co_await stop_workers(usual_stop());
    run_result result =
        finish(worker_state::stopped, request.reason.empty() ? "stop requested" : request.reason);
    result.stop_signal = request.signal;
    if (request.is_node_bad) keep_out(result.reason);
    co_return result;
  }

  /// Leaves the job because this node is bad. The job is not over: the others continue as after the
  /// loss of a node.
  task<run_result> leave_job() {
    const std::string reason = *bad_node();
    log_.error("this node leaves the job: {}", reason);
    stop_others(reason, false);
    co_await stop_workers(usual_stop());
    run_result result = finish(worker_state::failed, reason);
    job_end_.reset();
    result.left_as_bad = true;
    keep_out(reason);
    co_return result;
  }

  void keep_out(const std::string& reason) {
    if (rendezvous_) rendezvous_->keep_out(reason);
  }

  run_result finish(worker_state state, std::string reason) {
    if (state == worker_state::failed) job_end_ = rendezvous_handler::job_end::failed;
    end_reason_ = reason;
    run_result result;
    result.state = state;
    result.failures = group_.failures(host_name());
    result.max_restarts = spec_.max_restarts;
    result.restarts = restarts_;
    result.starts = starts_;
    result.replacements = replacements_;
    result.reason = std::move(reason);
    return result;
  }

  /// Leaves the rendezvous, however the run ended. If the job ended, this closes it for the other
  /// nodes, too; an agent that was stopped or failed only leaves.
  task<void> leave_rendezvous() {
    std::exception_ptr failure;
    try {
      co_await stop_workers(usual_stop());
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      co_await extension_->close();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    attempt_.reset();
    journal_.leave_rounds();
    if (rendezvous_) {
      if (job_end_) co_await run_and_log(rendezvous_->close(*job_end_, end_reason_));
      co_await run_and_log(rendezvous_->shutdown());
    }
    if (failure) std::rethrow_exception(failure);
  }

  /// Runs one step of leaving the rendezvous. A failure is only logged.
  task<void> run_and_log(task<void> step) {
    try {
      co_await std::move(step);
    } catch (const std::exception& failure) {
      log_.warning("the rendezvous could not be left in order: {}", failure.what());
    }
  }

  void report(const run_result& result) {
    if (const std::string starts = starts_.text(); !starts.empty()) {
      log_.info("the workers' starts on this node: {}", starts);
    }
    if (!replacements_.empty()) log_.info("{}", replacements_.text());
    if (result.state != worker_state::stopped) telemetry_.emit_result(result);
    telemetry_.record_workers(group_, result);
    telemetry_.record_agent(group_, result.restarts,
                            result.state == worker_state::stopped
                                ? std::optional<std::string>(result.reason)
                                : std::nullopt);
  }

  const worker_spec& spec_;
  std::string notice_;
  std::string meeting_;
  rendezvous_factory factory_;
  /// Until the first round, this is the handler that is being tried, or null.
  std::shared_ptr<rendezvous_handler> rendezvous_;
  const bool job_may_grow_;
  std::unique_ptr<agent_extension> extension_;
  agent_services services_;
  /// Totals of all attempts; nothing is counted unless an extension starts workers.
  worker_starts starts_;
  const logger& log_;
  asio::any_io_executor strand_;
  time_source& time_;
  run_files files_;
  worker_group group_;
  agent_journal journal_;
  agent_telemetry telemetry_;
  job_pause pause_;
  /// A pause that was requested between two epochs.
  std::shared_ptr<pending_command> pause_for_epoch_;
  /// Counts the failures of the job's workers, on all nodes.
  restart_ledger ledger_;
  bool are_missing_steps_noted_ = false;
  /// Empty before the first round and after the last.
  std::optional<attempt> attempt_;
  /// If workers can outlive an epoch: what this node tells the others about the last one.
  node_epoch last_epoch_;
  /// When this node learned that the last epoch had ended (empty during an epoch), and what ended
  /// it.
  std::optional<time_point> epoch_ended_;
  std::optional<rendezvous_change> last_change_;
  run_result::rank_replacements replacements_;
  catch_up catch_up_;
  /// How often workers had failed when those of the last attempt were started.
  int restarts_ = 0;
  /// Workers were started that `kill_at_fence` does not know yet.
  event_flag started_;
  /// The workers that were started last were killed at the fence.
  event_flag fenced_;
  event_flag stop_requested_;
  std::optional<stop_request> stop_;
  bool is_at_exit_barrier_ = false;
  /// What the check of this node found wrong with it.
  std::optional<std::string> failed_check_;
  /// Requests to the workers. Their number is bounded by the callers of `ask`.
  mailbox<worker_order> requests_;
  mailbox<std::shared_ptr<pending_command>> inspections_;
  /// The job has succeeded without this node.
  bool is_late_ = false;
  /// Set if the job ended by itself, which ends it for the other nodes, too.
  std::optional<rendezvous_handler::job_end> job_end_;
  std::string end_reason_;
};

}  // namespace detail

ELASTIC_DECL local_agent::local_agent(options settings)
    : options_(std::move(settings)), inbox_(detail::new_shared<detail::request_inbox>()) {
  validate(options_.workers);
  if (!options_.rendezvous) throw error(errc::invalid_argument, "the agent has no rendezvous");
}

ELASTIC_DECL task<run_result> local_agent::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto is_cancelled = detail::new_shared<bool>(false);
  std::function<void(asio::cancellation_type)> on_cancel =
      [is_cancelled, ask_for_stop = inbox_->cancel_handler()](asio::cancellation_type requested) {
        *is_cancelled = true;
        ask_for_stop(requested);
      };
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  task<run_result> serving = serve(strand);
  task<run_result> running =
      detail::run_shielded<run_result>(strand, std::move(serving), std::move(on_cancel));
  run_result result = co_await std::move(running);
  if (*is_cancelled && result.state == worker_state::stopped) {
    throw detail::asio_system_error(asio::error::operation_aborted);
  }
  co_return result;
}

ELASTIC_DECL void local_agent::stop(stop_request request) { inbox_->push(std::move(request)); }

ELASTIC_DECL void local_agent::signal(int number) { inbox_->push(detail::signal_request{number}); }

ELASTIC_DECL void local_agent::signal_rank(int rank, int number, std::string reason) {
  inbox_->push(detail::rank_signal_request{rank, number, std::move(reason)});
}

ELASTIC_DECL void local_agent::ask(worker_request request) { inbox_->push(request); }

ELASTIC_DECL task<job_command::outcome> local_agent::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL task<run_result> local_agent::serve(asio::any_io_executor strand) {
  if (!options_.rendezvous) throw error(errc::invalid_argument, "an agent runs once");
  agent_services services = complete(std::exchange(options_.services, {}), strand);
  // Moved into the run: they may refer to the context, which this object may outlive.
  const auto run = detail::new_shared<detail::agent_run>(
      strand, options_.workers, std::exchange(options_.rendezvous, nullptr), std::move(services),
      std::exchange(options_.notice, {}), std::exchange(options_.meeting, {}),
      options_.job_may_grow);
  task<run_result> serving = detail::serve_inbox(strand, inbox_, run, run->run());
  co_return co_await std::move(serving);
}

}  // namespace elastic

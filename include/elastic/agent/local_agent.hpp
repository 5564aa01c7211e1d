// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/agent_telemetry.hpp>
#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/mailbox.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/control_message.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/stop_ladder.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic {

/// What a local_agent is made from.
struct agent_options {
  worker_spec workers;
  /// How this node meets the others. Must be set.
  std::shared_ptr<rendezvous_handler> rendezvous;
  agent_services services;
  /// A warning to log when the workers run for the first time: a job that cannot start says only
  /// why it cannot.
  std::string notice = {};
};

/// Supervises the workers of one node: meets the other nodes, starts the workers, watches them,
/// starts them all again when one fails or the membership changes, until they succeed or the
/// restarts are used up.
///
/// It starts no thread, installs no signal handler and keeps no global state. One object runs once.
///
/// Thread-safety: `stop`, `signal` and `ask` from any thread; the rest from one thread at a time.
/// `run` makes a strand of its caller's executor and does everything there, so the executor may be
/// a thread pool's (but see agent_services::worker_parent).
class local_agent {
 public:
  /// Errors: `errc::invalid_argument` where the worker_spec is out of bounds or there is no
  /// rendezvous.
  ELASTIC_DECL explicit local_agent(agent_options options);

  local_agent(const local_agent&) = delete;
  local_agent& operator=(const local_agent&) = delete;

  /// Runs the job on this node to its end. When it returns, by whatever way, no worker is left, no
  /// output is under way and the rendezvous was left.
  ///
  /// Result: `succeeded`; `failed`, with the failures of the last attempt; or `stopped`, where
  /// `stop` was called.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::start_failed`,
  /// `errc::file_access` (a worker or the log directory could not be had), and those of the
  /// rendezvous.
  /// Cancellation: partial and total stop gracefully, as `stop({})` does; terminal alone kills the
  /// workers now; of several, the gentlest counts, since the loser of `run() || timer` is sent all
  /// of them. A further request during a graceful stop kills. Then throws `operation_aborted`. The
  /// caller's cancellation state is afterwards as Asio makes it: terminal only, nothing pending.
  ELASTIC_DECL task<run_result> run() &;
  /// Make the agent a named object: g++ 12 destroys temporaries of this expression twice.
  task<run_result> run() && = delete;

  /// Asks the agent to stop: the workers get the request's signal, its grace, then SIGKILL. A
  /// second request kills at once. May be called before `run`, and after it without effect.
  void stop(stop_request request) { inbox_->push(std::move(request)); }

  /// Passes a signal, such as SIGUSR1, on to every worker that runs, and its process group; it is
  /// lost where none runs. May be called before `run`, and after it without effect.
  void signal(int number) { inbox_->push(detail::signal_request{number}); }

  /// Asks the agent to tell its workers something over the control channel, one request after the
  /// other. Only workers that run and have connected hear of it; what they answer is logged. May be
  /// called before and after `run` without effect.
  void ask(worker_request request) { inbox_->push(request); }

 private:
  /// Everything that lives as long as the run.
  struct running {
    ELASTIC_DECL running(asio::any_io_executor strand, const agent_options& options,
                         agent_services with);
    ELASTIC_DECL static log_layout make_layout(const agent_options& options);

    std::shared_ptr<rendezvous_handler> rendezvous;
    agent_services services;
    log_layout layout;
    worker_group group;
    agent_telemetry telemetry;
    /// Of the failures of the job's workers, on whichever node.
    restart_ledger ledger;
    /// How often workers had failed when those of now were started.
    int restarts = 0;
    std::optional<rendezvous_round> round;
    /// Why the round is to end.
    std::optional<rendezvous_change> change;
    event_flag stop_asked;
    std::optional<stop_request> stop;
    /// What the workers are to be told. Bounded by whoever asks.
    mailbox<worker_request> requests;
    /// The job has succeeded without this node.
    bool is_late = false;
    /// The job ended by itself, which ends it for the other nodes, too.
    std::optional<job_end> job_ended;
    std::string end_reason;
  };

  /// Closes the inbox, also where the context is destroyed while the agent runs.
  struct inbox_user {
    std::shared_ptr<detail::request_inbox> inbox;
    ~inbox_user() { inbox->close(); }
  };

  ELASTIC_DECL static agent_services with_defaults(agent_services services,
                                                   asio::any_io_executor strand, bool has_hook);
  ELASTIC_DECL static std::shared_ptr<process_launcher> make_launcher(
      const agent_services& services, asio::any_io_executor strand);
  ELASTIC_DECL task<run_result> serve(asio::any_io_executor strand);

  /// A signal to be passed on arrives, on the strand; between two attempts there is nobody for it.
  ELASTIC_DECL void take(running& state, const detail::signal_request& request);

  /// Something that workers are to be told arrives, on the strand.
  ELASTIC_DECL static void take(running& state, const worker_request& request);

  /// A stop request arrives, on the strand. The first is carried out by whoever waits for
  /// `stop_asked`.
  ELASTIC_DECL void take(running& state, const stop_request& request);

  /// The whole life of the job on this node: each turn of the loop is one attempt.
  ELASTIC_DECL task<run_result> attempt_until_done(running& state);
  ELASTIC_DECL restart_decision decide(const running& state) const;

  /// The workers of this node have ended: tells the others, and learns what that leads to.
  ELASTIC_DECL task<void> take_outcome(running& state);
  ELASTIC_DECL task<void> tell_of_failure(running& state);
  ELASTIC_DECL static bool succeeded(const running& state);
  ELASTIC_DECL run_result finish_succeeded(running& state);

  /// The job had succeeded before this node could take part, or again.
  ELASTIC_DECL run_result finish_late(running& state);

  /// Ends one attempt and begins the next after a while, unless a stop is asked for meanwhile.
  ELASTIC_DECL task<void> restart(running& state, duration delay);

  /// Until the workers run, a stop is asked for, or there is nothing left to do.
  ELASTIC_DECL task<void> begin_attempt(running& state);
  ELASTIC_DECL task<void> meet_and_start(running& state);

  /// Meets the other nodes and learns the ranks of this one's workers; again, where one is lost
  /// before all have told about theirs. Result: none where the job's restarts are used up, which a
  /// node that lost the others may learn only here.
  ELASTIC_DECL task<std::optional<assigned_ranks>> meet(running& state);
  ELASTIC_DECL task<assigned_ranks> tell_about_workers(running& state);
  ELASTIC_DECL static task<void> keep(task<assigned_ranks> work,
                                      std::optional<assigned_ranks>& result);
  ELASTIC_DECL static void take(running& state, rendezvous_change change);
  ELASTIC_DECL task<void> note_change(running& state);

  /// Until the workers' fate is known, the round is to end or a stop is asked for.
  ELASTIC_DECL task<void> watch(running& state);

  /// Tells the workers what `ask` was asked for; ends by cancellation only.
  ELASTIC_DECL task<void> pass_on_requests(running& state);

  /// Has the workers save a checkpoint, and says in the log what came of it.
  ELASTIC_DECL task<void> save(running& state, duration within);

  /// On preemption the workers save what they have before they are stopped. Who asks a second time
  /// wants no more of that: the workers are killed, which ends the wait.
  ELASTIC_DECL task<void> save_before_stop(running& state, const stop_request& request);

  /// The periodic state metrics; waits for ever where nobody takes them.
  ELASTIC_DECL task<void> report_state(running& state);
  ELASTIC_DECL void emit_state(running& state) const;

  /// A node that has lost the others has no more time than they leave it.
  ELASTIC_DECL stop_plan usual_stop(const running& state) const;

  /// Stops the workers as planned, or as a request says that was made or comes meanwhile.
  ELASTIC_DECL task<void> stop_workers(running& state, stop_plan plan);

  /// Hooks that look into hung workers may go on to their deadline, as far as the others wait.
  ELASTIC_DECL task<void> stop_after_hooks(running& state, stop_plan plan);

  /// Until the other nodes have succeeded, too, or the round is to end.
  ELASTIC_DECL task<void> meet_at_exit(running& state);
  ELASTIC_DECL static task<void> note_met(task<bool> barrier, bool& met);
  ELASTIC_DECL task<run_result> finish_stopped(running& state);

  /// A worker said that this node is bad. The job is not over: the others go on as when a node is
  /// lost.
  ELASTIC_DECL task<run_result> finish_bad_node(running& state);
  ELASTIC_DECL run_result finish(running& state, worker_state how, std::string reason);

  /// On every way out: no worker, no membership. A job that ended is closed for the other nodes;
  /// an agent that was stopped or broke down only leaves.
  ELASTIC_DECL task<void> wind_up(running& state);

  /// A step out of the rendezvous, which holds up nothing where it fails.
  ELASTIC_DECL task<void> in_order(task<void> step);
  ELASTIC_DECL void report(running& state, run_result& result);

  /// The report for programs, beside the log files.
  ELASTIC_DECL void leave_report(const running& state, const run_result& result) const;
  ELASTIC_DECL void log_change(const running& state, const restart_decision& decision) const;

  /// What failed first, for the other nodes.
  ELASTIC_DECL static std::string first_failure(const running& state);
  ELASTIC_DECL const logger& log() const;

  agent_options options_;
  std::shared_ptr<detail::request_inbox> inbox_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/local_agent.ipp>
#endif

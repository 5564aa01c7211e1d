// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>

#include <memory>
#include <string>

namespace elastic {

namespace detail {
class request_inbox;
}  // namespace detail

/// Supervises the workers of one node: meets the other nodes, starts the workers, watches them,
/// starts them all again when one fails or the membership changes, until they succeed or the
/// restarts are used up.
///
/// It starts no thread, installs no signal handler and keeps no global state. One object runs once.
///
/// Thread-safety: `stop`, `signal`, `ask` and `carry_out` from any thread; the rest from one
/// thread at a time.
/// `run` makes a strand of its caller's executor and does everything there, so the executor may be
/// a thread pool's (but see agent_services::worker_parent).
class local_agent {
 public:
  /// What a local_agent is made from.
  struct options {
    worker_spec workers;
    /// How this node meets the others: a handler, or what makes one before the first round. Must be
    /// set.
    rendezvous_factory rendezvous;
    agent_services services;
    /// A warning to log when the workers run for the first time: a job that cannot start says only
    /// why it cannot.
    std::string notice = {};
    /// How many nodes meet and where, such as "2 nodes meet at host0:29400": logged after 5 s of
    /// waiting for them, then each 30 s. Empty: nothing is.
    std::string meeting = {};
    /// The job may run with fewer nodes than can take part: more may join while it runs.
    bool job_may_grow = false;
  };

  /// Errors: `errc::invalid_argument` if the worker_spec is out of bounds or there is no
  /// rendezvous.
  ELASTIC_DECL explicit local_agent(options settings);

  local_agent(const local_agent&) = delete;
  local_agent& operator=(const local_agent&) = delete;

  /// Runs the job on this node to its end. When it returns, however it does, no worker is left, no
  /// output is under way and the rendezvous was left.
  ///
  /// Result: `succeeded`; `failed`, with the failures of the last attempt; or `stopped`, if `stop`
  /// was called.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::start_failed`,
  /// `errc::file_access` (a worker could not be started, the log directory not be made), and those
  /// of the rendezvous.
  /// Cancellation: partial and total stop gracefully, as `stop({})` does; terminal alone kills the
  /// workers now; of several, the gentlest counts, since the loser of `run() || timer` is sent all
  /// of them. A further request during a graceful stop kills. Then throws `operation_aborted`. The
  /// caller's cancellation state is afterwards as Asio makes it: terminal only, nothing pending.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: name the agent in a statement of its own. g++ 12 destroys its options twice in this
  /// expression.
  task<run_result> run() && = delete;

  /// Asks the agent to stop: the workers get the request's signal, its grace, then SIGKILL. A
  /// second request kills at once if it escalates, and has no effect otherwise. May be called
  /// before `run`, and after it without effect.
  ELASTIC_DECL void stop(stop_request request);

  /// Passes a signal, such as SIGUSR1, on to every worker that runs, and its process group; to
  /// those that are being started as soon as they run. It is lost if there are none. May be called
  /// before `run`, and after it without effect.
  ELASTIC_DECL void signal(int number);

  /// Sends a signal to the worker of this rank of the job, and its process group, if it runs on
  /// this node. Like any signal from outside: one that ends the worker is its failure.
  /// @param reason  is logged with it, and stands in the journal as that of a fault made on
  /// purpose;
  ///                empty: it is logged for debugging only
  ELASTIC_DECL void signal_rank(int rank, int number, std::string reason = {});

  /// Asks the agent to tell its workers something over the control channel, one request after the
  /// other. Only workers that run and have connected hear of it; their answers are logged. May be
  /// called before and after `run` without effect.
  ELASTIC_DECL void ask(worker_request request);

  /// Carries out a command, such as one that a status_server takes. May be awaited before `run`,
  /// which it then waits for, and after it; the agent may be gone by then.
  ///
  /// Result: when it is done, or what kept it from being done. `drain` is done once the agent has
  /// begun to leave.
  /// Cancellation: all types; the command may be carried out all the same.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

 private:
  ELASTIC_DECL task<run_result> serve(asio::any_io_executor strand);

  options options_;
  std::shared_ptr<detail::request_inbox> inbox_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/local_agent.ipp>
#endif

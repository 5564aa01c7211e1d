// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/run/async_run.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

namespace detail {
class request_inbox;
class run_monitor;
struct pending_agent;
struct inbox_access;
}  // namespace detail

/// Supervises the workers of one node: meets the other nodes, starts the workers, watches them, and
/// restarts all of them when one fails or the membership changes, until they succeed or the
/// restarts are used up.
///
/// It starts no thread and installs no signal handler. The only state that it shares with other
/// objects is the last line of a console. One object runs once. The run does not depend on the
/// object: the destructor asks it to stop, as `stop({})` does, and does not wait. The run then ends
/// with a result whose state is `stopped`.
///
/// Thread-safety: `stop`, `signal`, `signal_rank`, `ask`, `carry_out`, `dump` and the destructor
/// from any thread; the rest from one thread at a time. `run` creates a strand on its caller's
/// executor and does everything there, so the executor may be a thread pool's (but see
/// agent_services::process_options::parent).
class local_agent {
 public:
  /// The parts of a local_agent.
  struct options {
    worker_spec workers = {};
    /// How this node meets the others: a handler, or a coroutine that chooses one before the first
    /// round. Must be set.
    rendezvous_factory rendezvous = {};
    agent_services services = {};
    /// A warning to log when the workers run for the first time, so that a job that cannot start
    /// reports only the reason for that.
    std::string notice = {};
    /// The number of nodes and the place where they meet: "the job needs 2 nodes, which meet at
    /// host0:29400". It is logged after 5 s of waiting for the other nodes, and then every 30 s.
    /// Empty: not logged.
    std::string meeting = {};
    /// The job may run with fewer nodes than can take part: more may join while it runs.
    bool job_may_grow = false;
  };

  /// Errors: `errc::invalid_argument` if the worker_spec is out of bounds or there is no
  /// rendezvous.
  ELASTIC_DECL explicit local_agent(options settings);
  ELASTIC_DECL ~local_agent();

  local_agent(const local_agent&) = delete;
  local_agent& operator=(const local_agent&) = delete;

  /// Runs the job on this node to its end. However it ends, no worker is left, all output is
  /// written, and the node has left the rendezvous.
  ///
  /// Result: `succeeded`; `failed`, with the failures of the last attempt; or `stopped`, if `stop`
  /// was called.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::start_failed`,
  /// `errc::file_access` (a worker could not be started, or the log directory not be created), and
  /// those of the rendezvous; `errc::invalid_argument` for a second run. Once workers have run,
  /// those that the caller could correct (`errc::invalid_argument`, `errc::file_access`,
  /// `errc::address_in_use`) become `errc::start_failed`.
  /// Cancellation: partial and total stop gracefully, as `stop({})` does; only terminal kills the
  /// workers now. If several types are combined, the gentlest applies, since the loser of `run() ||
  /// timer` is sent all of them. A further request during a graceful stop kills. Then it throws
  /// `operation_aborted`. Afterwards, the caller's cancellation state is Asio's default: terminal
  /// only, nothing pending. With `co_spawn`, a request that comes before the task has begun is
  /// Asio's: terminal throws `operation_aborted`, the others are lost. `async_run` has no such gap.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: name the agent in a separate statement. g++ 12 destroys its options twice in this
  /// expression.
  task<run_result> run() && = delete;  // declare the agent first

  /// Runs the job as `run` does, on the executor, with any completion token of Asio. The signature
  /// is `void(std::exception_ptr, run_result)`. The handler is called on its associated executor,
  /// by default on that of the run, and never within this call.
  ///
  /// Result: as `run`; a run that was cancelled has a result, too, whose state is `stopped`.
  /// Errors: those of `run`.
  /// Cancellation: that of `run`, by the cancellation slot of the token's handler, at any time,
  /// also before the run has begun. The signal may be emitted on any thread, but by one at a time.
  /// No effect after the end. `asio::cancel_after` kills unless it is given another type than
  /// terminal (`job::async_run`).
  template <class CompletionToken>
  auto async_run(asio::any_io_executor executor, CompletionToken&& token) & {
    return detail::async_run<run_result>(std::move(executor), inbox_, run(),
                                         std::forward<CompletionToken>(token));
  }
  /// Deleted: the destructor of a temporary would stop the run.
  template <class CompletionToken>
  auto async_run(asio::any_io_executor, CompletionToken&&) && = delete;  // declare the agent first

  /// Asks the agent to stop: the workers receive the request's signal and, after its grace period,
  /// SIGKILL. A second request kills at once if it escalates, and has no effect otherwise. May be
  /// called before `run`; has no effect after it.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void stop(stop_request request);

  /// Passes on a signal, such as SIGUSR1, to every running worker and its process group, and to
  /// workers that are being started as soon as they run. If there are none, it is lost. May be
  /// called before `run`; has no effect after it.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void signal(int number);

  /// Sends a signal to the worker of this rank of the job, and to its process group, if it runs on
  /// this node. As with any external signal, a worker that it ends has failed.
  /// @param reason  logged with it, and recorded in the journal as an injected fault; empty: logged
  ///                at debug level only
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void signal_rank(int rank, int number, std::string reason = {});

  /// Sends a request to the workers over the control channel, one request after the other. Only
  /// running workers that have connected receive it; their answers are logged. Has no effect before
  /// and after `run`.
  ELASTIC_DECL void ask(worker_request request);

  /// Carries out a command, such as one from a status_server. May be awaited before `run`, for
  /// which it then waits, and after it, even if the agent no longer exists.
  ///
  /// Result: the outcome when the command is done, or why it was not carried out, at the latest
  /// when the run ends, or when the agent is destroyed and has not run. `drain` is done once the
  /// agent has begun to leave.
  /// Cancellation: all types; the command may still be carried out.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

  /// The same on the executor, with any completion token: `elastic::async_run` says how it calls
  /// the handler and what cancels it.
  template <class CompletionToken>
  auto async_carry_out(asio::any_io_executor executor, job_command command,
                       CompletionToken&& token) & {
    return elastic::async_run(std::move(executor), carry_out(std::move(command)),
                              std::forward<CompletionToken>(token));
  }

  /// Writes a readable summary of the agent's state in a few lines: its step and since when it is
  /// in it, the round, the workers with their processes, and the signals sent to them. It works
  /// even if the agent's strand is blocked: call it from another thread, or from a debugger, when
  /// the program seems stuck. The format may change.
  /// Errors: those of the stream. Thread-safety: any thread, but not a signal handler.
  ELASTIC_DECL void dump(std::ostream& out) const;

 private:
  friend detail::inbox_access;

  std::shared_ptr<detail::request_inbox> inbox_;
  std::shared_ptr<detail::run_monitor> monitor_;
  /// The state that the run takes over; null afterwards.
  std::unique_ptr<detail::pending_agent> pending_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/local_agent.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/run/async_run.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

namespace detail {
class request_inbox;
class run_monitor;
struct inbox_access;
struct replica_parts;
}  // namespace detail

/// Replicas of one program on this node, such as an inference server. They form no world and do not
/// meet: a replica that fails restarts alone while the others continue. A replica that succeeds is
/// not restarted.
///
///     replica_set servers(config);
///     servers.async_run(context.get_executor(), on_end);
///
/// A set provides for each replica what an agent provides for a worker: a guard, log files, the
/// control channel, hang detection with its hook, and restarts with their delays. The environment
/// of a replica has LOCAL_RANK, LOCAL_WORLD_SIZE, ROLE_NAME, ROLE_RANK and ROLE_WORLD_SIZE, which
/// do not change when it restarts, and TORCHELASTIC_RESTART_COUNT, which counts its own failures.
///
/// It starts no thread and installs no signal handler. The only state that it shares with other
/// objects is the last line of a console. One object runs once. The run does not depend on the
/// object: the destructor asks it to stop, as `stop()` does, and does not wait. The run then ends
/// with a result whose state is `stopped`.
///
/// Thread-safety: `stop`, `signal`, `signal_replica`, `carry_out`, `dump` and the destructor from
/// any thread; the rest from one thread at a time.
class replica_set {
 public:
  /// @param config    `workers` describes the replicas, `nproc_per_node` of them; `max_restarts`
  ///                  applies to all of them together, the delay before a restart to each alone.
  ///                  The rendezvous is not used
  /// @param services  as for an agent; an agent_part only starts processes and carries out
  ///                  commands
  /// Errors: those of `make_agent` for the workers; `errc::invalid_argument` for
  /// `failure_policy::replace`, a node check, and output filters, which replicas do not support.
  ELASTIC_DECL replica_set(const launch_config& config, agent_services services);
  /// The same with the default services.
  ELASTIC_DECL explicit replica_set(const launch_config& config);
  ELASTIC_DECL ~replica_set();
  replica_set(const replica_set&) = delete;
  replica_set& operator=(const replica_set&) = delete;

  /// Runs the replicas until all have succeeded, the restarts are used up, or the set is stopped.
  /// However it ends, no replica is left, and all output is written. It runs on a strand of the
  /// caller's executor.
  ///
  /// Result: `succeeded`; `failed`, with the replicas that failed last; or `stopped`. `restarts`
  /// counts those of all replicas.
  /// Errors: those of starting workers, as for `local_agent::run`; `errc::invalid_argument` for a
  /// second run.
  /// Cancellation: partial and total stop the replicas as `stop` does; only terminal kills them. If
  /// several types are combined, the gentlest applies. A further request kills. Then it returns a
  /// result whose state is `stopped`, unless the replicas had ended by themselves. Afterwards, the
  /// caller's cancellation state is Asio's default: terminal only, nothing pending. With
  /// `co_spawn`, a request that comes before the task has begun is Asio's: terminal throws
  /// `operation_aborted`, the others are lost. `async_run` has no such gap.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: the destructor of a temporary would stop the run.
  task<run_result> run() && = delete;  // declare the set first

  /// Runs the replicas as `run` does, on the executor, with any completion token of Asio. The
  /// signature is `void(std::exception_ptr, run_result)`. The handler is called on its associated
  /// executor, by default on that of the run, and never within this call.
  ///
  /// Result, errors: those of `run`.
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
  auto async_run(asio::any_io_executor, CompletionToken&&) && = delete;  // declare the set first

  /// Asks all replicas to end: with the signal of the request, and with SIGKILL after its grace
  /// period or else the `shutdown_timeout`. A second request kills at once if it escalates, and has
  /// no effect otherwise. No effect on a set that has ended. If called before `run`, no replica
  /// starts.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Passes a signal on to every running replica, as `local_agent::signal` does.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void signal(int number);

  /// The same for one replica and its process group.
  /// @param reason  logged with it, and recorded in the journal as an injected fault; empty: logged
  ///                at debug level only
  ELASTIC_DECL void signal_replica(int replica, int number, std::string reason = {});

  /// Carries out a command while the set runs. `pause` makes the replicas save a checkpoint and
  /// stops them; `resume` restarts them with the same numbers, and the restarts used so far still
  /// count. A set with a replica that has succeeded cannot be paused, because `resume` would run
  /// that replica again. `drain` stops the set. `stacks` needs the agent_part of
  /// `add_diagnosis`.
  ///
  /// Result: the outcome when the command is done, or why it was not carried out, at the latest
  /// when the run ends, or when the set is destroyed and has not run.
  /// Errors: none of its own. Cancellation: all types; the command may still be carried out.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

  /// The same on the executor, with any completion token: `elastic::async_run` says how it calls
  /// the handler and what cancels it.
  template <class CompletionToken>
  auto async_carry_out(asio::any_io_executor executor, job_command command,
                       CompletionToken&& token) & {
    return elastic::async_run(std::move(executor), carry_out(std::move(command)),
                              std::forward<CompletionToken>(token));
  }

  /// Writes a readable summary of the set's state: as `local_agent::dump`.
  /// Errors: those of the stream. Thread-safety: any thread, but not a signal handler.
  ELASTIC_DECL void dump(std::ostream& out) const;

 private:
  friend detail::inbox_access;

  std::shared_ptr<detail::request_inbox> inbox_;
  std::shared_ptr<detail::run_monitor> monitor_;
  /// The state that the run takes over; null afterwards.
  std::unique_ptr<detail::replica_parts> parts_;
};

/// Runs replicas as a program does: each signal of the plan either stops them cleanly or is passed
/// on to them. See `run_with_signals` for an agent.
///
/// Result, errors and cancellation: those of `replica_set::run`; `errc::invalid_argument` for a
/// plan that `validate` refuses.
ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas, named<signal_plan> plan);
/// The same with the default signal_plan.
ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/replica_set.ipp>
#endif

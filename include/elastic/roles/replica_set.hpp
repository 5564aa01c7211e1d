// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <memory>
#include <string>

namespace elastic {

namespace detail {
class request_inbox;
struct prepared_workers;
}  // namespace detail

/// Replicas of one program on this node, such as those of an inference server. They have no world:
/// nobody meets, and one that fails starts again by itself while the others run on. One that ends
/// with success is not started again.
///
///     replica_set servers(config);
///     co_spawn(context, servers.run(), on_end);
///
/// What an agent does for its workers it does for each replica: a guard, log files, the control
/// channel, the watch for hung ones and its hook, restarts with their pauses. A replica has
/// LOCAL_RANK, LOCAL_WORLD_SIZE, ROLE_NAME, ROLE_RANK and ROLE_WORLD_SIZE, which its successor
/// gets, too, and TORCHELASTIC_RESTART_COUNT, which counts its own failures.
///
/// It starts no thread, installs no signal handler and keeps no global state. One object runs once.
/// It must live until its run has ended.
///
/// Thread-safety: `stop`, `signal`, `signal_replica` and `carry_out` from any thread; the rest from
/// one thread at a time.
class replica_set {
 public:
  /// @param config    what the replicas are: `workers`, of which there are `nproc_per_node`;
  ///                  `max_restarts` is that of all together, the pause before a restart is each
  ///                  one's own. How nodes meet is not used
  /// @param services  as for an agent
  ///                  but of an agent_extension only what starts processes and carries out commands
  /// Errors: those of `make_agent` for the workers; `errc::invalid_argument` for what replicas do
  /// not have: `on_failure::replace`, a node check, filters of output.
  ELASTIC_DECL replica_set(named<launch_config> config, named<agent_services> services);
  /// The same with the default services.
  ELASTIC_DECL explicit replica_set(named<launch_config> config);
  ELASTIC_DECL ~replica_set();
  replica_set(const replica_set&) = delete;
  replica_set& operator=(const replica_set&) = delete;

  /// Runs the replicas until all have ended with success, until the restarts are used up, or until
  /// it is stopped. When it returns, however it does, no replica is left and no output is under
  /// way. It runs on a strand of the caller's executor.
  ///
  /// Result: `succeeded`; `failed`, with the replicas that had failed last; or `stopped`.
  /// `restarts` is the number of all.
  /// Errors: those of the start of workers, as `local_agent::run`; `errc::invalid_argument` for a
  /// second run.
  /// Cancellation: partial and total stop the replicas as `stop` does, terminal alone kills them;
  /// of several, the gentlest counts. A further request kills. Then it returns a result whose state
  /// is `stopped`, unless the replicas had ended by themselves. The caller's cancellation state is
  /// afterwards as Asio makes it: terminal only, nothing pending.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: the set must live until its run has ended.
  task<run_result> run() && = delete;

  /// Asks all replicas to end: by the signal of the request, and by SIGKILL when its grace, or the
  /// `shutdown_timeout`, has passed. A second request has no effect unless it escalates: then it
  /// kills. No effect on a set that has ended. Before `run`, no replica starts.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Passes a signal on to every replica that runs, as `local_agent::signal` does.
  ELASTIC_DECL void signal(int number);

  /// The same for one replica, and for what it has started.
  /// @param reason  logged with it, and recorded in the journal as an injected fault; empty: logged
  ///                at debug level only
  ELASTIC_DECL void signal_replica(int replica, int number, std::string reason = {});

  /// Carries out a command while the set runs. `pause` has the replicas save a checkpoint and stops
  /// them; `resume` starts them again, with the same numbers and what they have used up of the
  /// restarts. A set of which a replica has ended with success does not pause, since that one would
  /// run again. `drain` stops the set. `stacks` needs the agent_extension of `add_diagnosis`.
  ///
  /// Result: when the command has been carried out, or cannot be.
  /// Errors: none of its own. Cancellation: all types; the command may be carried out.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

 private:
  std::unique_ptr<detail::prepared_workers> prepared_;
  std::string run_id_;
  std::shared_ptr<detail::request_inbox> inbox_;
};

/// Runs replicas as a program does: the signals of the plan stop them in order, or are passed on to
/// them. See `run_with_signals` for an agent.
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

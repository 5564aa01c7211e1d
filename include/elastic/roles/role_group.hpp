// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/run/async_run.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/contract/job_roles.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/roles/role.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {
class group_monitor;
class request_inbox;
struct group_parts;
struct inbox_access;
}  // namespace detail

/// A job of several roles on this node, each with its own workers, world and lifetime. An agent
/// runs each role; when a role becomes ready, succeeds or fails, the group decides what happens to
/// the others. On several nodes, each node runs a group of the same roles.
///
///     role_group job(context.get_executor(), options);
///     job.async_run(on_end);
///
/// The job succeeds when every role without `stops_with` has succeeded; the rest are then stopped.
///
/// One object runs once. The run does not depend on the object: the destructor asks it to stop, as
/// `stop()` does, and does not wait. The run then ends with a result whose state is `stopped`.
///
/// Thread-safety: `stop`, `signal`, `carry_out`, `dump` and the destructor from any thread; the
/// rest from one thread at a time.
class role_group {
 public:
  /// The roles of a job, as the group of this node sees them.
  struct snapshot {
    /// The state of each role, and its workers on all nodes.
    job_roles document;
    /// Why each role is in its state, a clause for each.
    std::vector<std::string> reasons;
    /// The outcome of the job, and the reason; `init` until it is decided.
    worker_state verdict = worker_state::init;
    std::string reason;
    /// The job has ended: no role runs any more.
    bool is_over = false;
    /// How often all roles were restarted.
    int restarts = 0;
  };

  /// The parameters of a group.
  struct options {
    /// The name of the job; the nodes of each role meet under the run id "JOB/ROLE". Empty: a
    /// random name, for jobs of one node.
    std::string run_id = {};
    std::vector<role> roles = {};
    /// How often all roles may restart (`elastic::role::policy::restart_job`).
    int max_restarts = 0;
    /// Where the log directory of the job is created. Each role has a subdirectory with its name,
    /// followed by the number of the restart after a restart of the job. Empty: in the temporary
    /// folder, and removed after success. "/dev/null": no files at all.
    std::string log_dir = {};
    /// The file of the journal of all roles. Empty: `journal.jsonl` in the job's log directory, if
    /// there is one. "/dev/null": none.
    std::string journal = {};
    /// Completes the services of the agent or the replicas that are about to run a role; they
    /// include the role's journal if the job has one. Called on a strand of the group. An exception
    /// ends the role, as if it could not be started. Default: nothing is added.
    std::function<void(std::size_t role, agent_services& services)> complete = {};
    /// Called after each change of the state, on a strand of the group. Must not throw. Default: no
    /// function is called.
    std::function<void(snapshot now)> on_change = {};
  };

  /// How a job of several roles ended on this node.
  struct result {
    /// How one role of a job ended on this node.
    struct entry {
      std::string name;
      /// `succeeded`, `failed` or `stopped`.
      role::state state = role::state::waiting;
      /// The reason, a clause.
      std::string reason;
      /// The result of its last run; empty if it never ran.
      std::optional<run_result> run;
    };

    /// `succeeded`, `failed` or `stopped`.
    worker_state state = worker_state::init;
    /// The reason, one sentence.
    std::string reason;
    /// The role that decided the outcome; empty if the job was stopped from outside.
    std::string decided_by;
    /// In the order of `options::roles`.
    std::vector<entry> roles;
    /// How often all roles were restarted.
    int restarts = 0;
    /// Whether another run of the job would fail in the same way.
    bool is_hopeless = false;
    /// Where the log files are; empty if none are kept.
    std::string log_directory;
    /// The signal of the request that stopped the job, if one did.
    std::optional<int> stop_signal;
  };

  /// @param executor  where the job runs, on its own strands; may be a thread pool's executor
  /// @param services  the services of each role's agent. The journal and what `add_status` and
  ///                  `add_monitor` connect must be empty, because each role has its own. Each line
  ///                  of the log begins with the name of its role
  /// Errors: those of `validate` for the roles, and those of `make_agent` for each role, which name
  /// the role; `errc::invalid_argument` for services that cannot be shared, for a negative number
  /// of restarts, for the policy restart_job if the job has no restarts, and for an empty run id if
  /// a role has several nodes.
  ELASTIC_DECL role_group(asio::any_io_executor executor, options job,
                          agent_services services);
  /// The same with the default services.
  ELASTIC_DECL role_group(asio::any_io_executor executor, options job);
  ELASTIC_DECL ~role_group();
  role_group(const role_group&) = delete;
  role_group& operator=(const role_group&) = delete;

  /// Runs the job on this node to its end. However it ends, no worker is left, all output is
  /// written, and the node has left every rendezvous.
  ///
  /// Result: how the job and each of its roles ended, even if it was cancelled.
  /// Errors: the first exception of an agent, once all roles have ended; `errc::file_access` if the
  /// log directory cannot be created; `errc::invalid_argument` for a second run.
  /// Cancellation: partial and total stop the job as `stop` does; only terminal kills the workers.
  /// If several types are combined, the gentlest applies. A further request kills. Then it returns
  /// a result whose state is `stopped`, unless the job had ended by itself. Afterwards, the
  /// caller's cancellation state is Asio's default: terminal only, nothing pending. With
  /// `co_spawn`, a request that comes before the task has begun is Asio's: terminal throws
  /// `operation_aborted`, the others are lost. `async_run` has no such gap.
  ELASTIC_DECL task<result> run() &;
  /// Deleted: the destructor of a temporary would stop the run.
  task<result> run() && = delete;  // declare the group first

  /// Runs the job as `run` does, with any completion token of Asio. The signature is
  /// `void(std::exception_ptr, role_group::result)`. The handler is called on its associated
  /// executor, by default on the group's, and never within this call.
  ///
  /// Result, errors: those of `run`.
  /// Cancellation: that of `run`, by the cancellation slot of the token's handler, at any time,
  /// also before the run has begun. The signal may be emitted on any thread, but by one at a time.
  /// No effect after the end. `asio::cancel_after` kills unless it is given another type than
  /// terminal (`job::async_run`).
  template <class CompletionToken>
  auto async_run(CompletionToken&& token) & {
    return detail::async_run<result>(executor_, inbox_, run(),
                                     std::forward<CompletionToken>(token));
  }
  /// Deleted: the destructor of a temporary would stop the run.
  template <class CompletionToken>
  auto async_run(CompletionToken&& token) && = delete;  // declare the group first

  /// Carries out a command for one role (`job_command::role`) or for all; callable on any strand,
  /// even while the job ends, and after it.
  ///
  /// Result: the outcome, as of `local_agent::carry_out`, for each role.
  /// Cancellation: all types; the command may still be carried out.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

  /// The same on the group's executor, with any completion token: `elastic::async_run` says how it
  /// calls the handler and what cancels it.
  template <class CompletionToken>
  auto async_carry_out(job_command command, CompletionToken&& token) & {
    return elastic::async_run(executor_, carry_out(std::move(command)),
                              std::forward<CompletionToken>(token));
  }

  /// Asks the workers of all roles to end at the same time: with the signal of the request, and
  /// with SIGKILL after its grace period or else the role's `shutdown_timeout`. A request that does
  /// not escalate has no effect on a job that is already stopping. No effect on a job that has
  /// ended. If called before `run`, no worker starts.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Passes a signal on to every worker of every role that runs, as `local_agent::signal` does.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void signal(int number);

  /// Writes a readable summary of the state of each role and of its agent or replicas: as
  /// `local_agent::dump`.
  /// Errors: those of the stream. Thread-safety: any thread, but not a signal handler.
  ELASTIC_DECL void dump(std::ostream& out) const;

 private:
  friend detail::inbox_access;

  asio::any_io_executor executor_;
  std::shared_ptr<detail::request_inbox> inbox_;
  std::shared_ptr<detail::group_monitor> monitor_;
  /// The state that the run takes over; null afterwards.
  std::unique_ptr<detail::group_parts> parts_;
};

namespace detail {

/// For `role_group::async_run`.
ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<role_group::result> work,
                            end_of_task<role_group::result>::handler on_end,
                            shared_cancellation cancellation);

}  // namespace detail

/// Runs a group as a program does: each signal of the plan either stops the group cleanly, and its
/// workers get the same signal, or is passed on to its workers. See `run_with_signals` for an
/// agent.
///
/// Result, errors and cancellation: those of `role_group::run`; `errc::invalid_argument` for a
/// plan that `validate` refuses.
ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group, named<signal_plan> plan);
/// The same with the default signal_plan.
ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group);

/// The exit code of a program that ran a job of several roles: as for a run_result.
ELASTIC_DECL int exit_code(const role_group::result& result);

/// The text that such a program writes to stderr after an unsuccessful run: the role that decided
/// the outcome, the report of its failures, the end of each role, and the place of the log files.
/// Empty after success.
ELASTIC_DECL std::string closing_words(const std::string& name, const role_group::result& result);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/role_group.ipp>
#endif

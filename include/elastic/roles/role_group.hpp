// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/roles/role.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

class role_extension;
namespace detail {
class request_inbox;
class role_plan;
}  // namespace detail

/// A job of several roles on this node, each with workers, a world and a life of its own. An agent
/// runs each role, and the group decides what follows for the others if one becomes ready, succeeds
/// or fails. On several nodes, each node runs a group of the same roles.
///
///     role_group job(context.get_executor(), options);
///     co_spawn(context, job.run(), on_end);
///
/// The job succeeds when every role without `stops_with` has succeeded; the rest are then stopped.
///
/// One object runs once. It must live until its run has ended.
///
/// Thread-safety: `stop` and `signal` from any thread; the rest from one thread at a time.
class role_group {
 public:
  /// What a group is made from.
  struct options {
    /// Names the job; each role meets by the run id "JOB/ROLE". Empty: a random name, for jobs of
    /// one node.
    std::string run_id = {};
    std::vector<role> roles = {};
    /// How often all roles may start again (`elastic::role::policy::restart_job`).
    int max_restarts = 0;
    /// Where the log directory of the job is made, in which each role has one with its name; after
    /// a restart of the job, with its number. Empty: in the temporary folder, and removed after
    /// success. "/dev/null": no files at all.
    std::string log_dir = {};
    /// The file of the journal of all roles. Empty: `journal.jsonl` in the job's log directory, if
    /// there is one. "/dev/null": none.
    std::string journal = {};
    /// What the program adds to the job; null: nothing.
    std::shared_ptr<role_extension> extension = {};
  };

  /// How a job of several roles ended on this node.
  struct result {
    /// How one role of a job ended on this node.
    struct entry {
      std::string name;
      /// `succeeded`, `failed` or `stopped`.
      role::state state = role::state::waiting;
      /// Why, half a sentence.
      std::string reason;
      /// How its workers ended, the last time that the role ran; none if it never did.
      std::optional<run_result> run;
    };

    /// `succeeded`, `failed` or `stopped`.
    worker_state state = worker_state::init;
    /// Why, one sentence.
    std::string reason;
    /// The role that decided it; empty if the job was stopped from outside.
    std::string decided_by;
    /// In the order of the roles that the job was made from.
    std::vector<entry> roles;
    /// How often all roles were started again.
    int restarts = 0;
    /// A new start of the job would end in the same way.
    bool is_hopeless = false;
    /// Where the log files are; empty if none are kept.
    std::string log_directory;
    /// The signal of the request that stopped the job.
    std::optional<int> stop_signal;
  };

  /// @param job       what it is made from
  /// @param executor  where the job runs, on strands of its own; it may be a thread pool's
  /// @param services  those of each role's agent, but for `journal`, `reports` and `tails`, of
  ///                  which each role has its own: they must be empty. A line of the log begins
  ///                  with the name of its role
  /// Errors: those of `validate` for the roles, and of `make_agent` for each, which then name the
  /// role; `errc::invalid_argument` for services that cannot be shared, and for a policy
  /// restart_job if the job has no restarts.
  ELASTIC_DECL role_group(asio::any_io_executor executor, named<options> job,
                          named<agent_services> services);
  /// The same with the default services.
  ELASTIC_DECL role_group(asio::any_io_executor executor, named<options> job);
  ELASTIC_DECL ~role_group();
  role_group(const role_group&) = delete;
  role_group& operator=(const role_group&) = delete;

  /// Runs the job on this node to its end. When it returns, however it does, no worker is left, no
  /// output is under way and every rendezvous was left.
  ///
  /// Result: how the job ended, and each role; also if it was cancelled.
  /// Errors: what an agent threw, the first of them, after all roles have ended;
  /// `errc::file_access` if the log directory cannot be made; `errc::invalid_argument` for a second
  /// run.
  /// Cancellation: partial and total stop the job as `stop` does, terminal alone kills the workers;
  /// of several, the gentlest counts. A further request kills. Then it returns a result whose state
  /// is `stopped`, unless the job had ended by itself. The caller's cancellation state is
  /// afterwards as Asio makes it: terminal only, nothing pending.
  ELASTIC_DECL task<result> run() &;
  /// Deleted: the group must live until its run has ended.
  task<result> run() && = delete;

  /// Asks the workers of all roles to end, at the same time: by the signal of the request, and by
  /// SIGKILL when its grace, or `shutdown_timeout` of the role, has passed. If it does not
  /// escalate, it has no effect on a job that is stopping. No effect on a job that has ended.
  /// Before `run`, no worker starts.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Passes a signal on to every worker of every role that runs, as `local_agent::signal` does.
  ELASTIC_DECL void signal(int number);

 private:
  std::shared_ptr<const detail::role_plan> plan_;
  std::shared_ptr<detail::request_inbox> inbox_;
};

/// Runs a group as a program does: the signals of the plan stop it in order, its workers getting
/// the same signal, or are passed on to its workers. See `run_with_signals` for an agent.
///
/// Result, errors and cancellation: those of `role_group::run`; `errc::invalid_argument` for a
/// plan that `validate` refuses.
ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group, named<signal_plan> plan);
/// The same with the default signal_plan.
ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group);

/// What a program that ran a job of several roles exits with: the numbers of the same function for
/// a run_result.
ELASTIC_DECL int exit_code(const role_group::result& result);

/// What such a program says after a run that did not succeed, for stderr: which role decided the
/// end, the report of its failures, how the others ended, and where the log files are. Empty after
/// success.
ELASTIC_DECL std::string closing_words(const std::string& name, const role_group::result& result);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/role_group.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// A part of a job, with its own workers, world and lifetime.
struct role {
  /// What happens when workers of a role fail.
  enum class policy {
    /// The job fails.
    fail_job,
    /// All workers of the role restart; other roles are not affected. When `max_restarts` of the
    /// role's worker_spec are used up, the job fails.
    restart_role,
    /// The same, but workers of the role that can rejoin keep their processes
    /// (`elastic::failure_policy::replace`).
    replace,
    /// For replicas: one that fails restarts; the others are not affected. When `max_restarts` of
    /// the role's worker_spec are used up, the job fails.
    restart_worker,
    /// All roles restart. When the restarts of the job are used up, the job fails.
    restart_job,
    /// When the role has used up its restarts, it ends, and the other roles continue.
    ignore,
  };

  /// The condition under which a role is ready, for roles that start after it. A role that has
  /// succeeded is ready in any case.
  enum class readiness {
    /// Each worker of this node has reported its progress, such as step 0
    /// (`worker_channel::progress`).
    progress,
    /// All workers of this node have been started.
    start,
    /// Each worker of this node, or a process that it has started, accepts a connection at its
    /// `ready_port`. The port is probed by connections that are closed at once, which the program
    /// must tolerate: at short intervals first, later twice a second.
    port,
  };

  /// The state of a role, as one node sees it.
  enum class state {
    /// It has not started: it starts after other roles.
    waiting,
    /// Its workers run, meet those of other nodes, or restart.
    running,
    /// Its workers have been asked to end.
    stopping,
    /// All of its workers have succeeded.
    succeeded,
    /// Its workers have failed, and do not restart.
    failed,
    /// It was stopped, or never started, because the job no longer needs it.
    stopped,
  };

  /// A condition for the start of a role.
  struct condition {
    /// The event that the other role must have reached.
    enum class event {
      /// It is ready, see `readiness`.
      ready,
      /// It has succeeded.
      success,
    };

    /// The name of the other role.
    std::string role = {};
    event what = event::ready;
  };

  /// The name of the role in messages, in logs, for other roles and for the workers (ROLE_NAME): 1
  /// to `limits::role_name_bytes` ASCII letters, digits, '-' and '_'.
  std::string name = {};
  /// The workers of the role, and how its nodes meet, as if the role were a separate job. The
  /// role_group derives `workers.role`, `workers.on_failure`, `workers.log_dir` and
  /// `rendezvous.run_id` from the name and the policy, so these must keep their defaults. `signals`
  /// is not used.
  launch_config config = {};
  /// Whether the workers form one world, with ranks and an address at which they meet. False: they
  /// are replicas (`replica_set`), `nproc_per_node` on each node, which do not meet; the rendezvous
  /// of `config` is not used.
  bool has_world = true;
  /// What happens when workers fail.
  policy on_failure = policy::fail_job;
  /// The role starts when all of these hold; empty: at once.
  std::vector<condition> starts_after = {};
  /// The name of another role: when that role ends, this one is stopped, which counts as its
  /// success. Empty: the job needs the success of this role.
  std::string stops_with = {};
  /// What makes this role ready.
  readiness ready_at = readiness::progress;
  /// For `readiness::port`: the NAME of the port, which `${port.NAME}` in the arguments of the
  /// workers requests.
  std::string ready_port = {};
};

/// The name in files and messages: "restart-role" and the like.
constexpr std::string_view to_string(role::policy policy) {
  switch (policy) {
    case role::policy::fail_job: return "fail-job";
    case role::policy::restart_role: return "restart-role";
    case role::policy::replace: return "replace";
    case role::policy::restart_worker: return "restart-worker";
    case role::policy::restart_job: return "restart-job";
    case role::policy::ignore: return "ignore";
  }
  return "unknown";
}

/// The name in files and messages.
constexpr std::string_view to_string(role::state state) {
  switch (state) {
    case role::state::waiting: return "waiting";
    case role::state::running: return "running";
    case role::state::stopping: return "stopping";
    case role::state::succeeded: return "succeeded";
    case role::state::failed: return "failed";
    case role::state::stopped: return "stopped";
  }
  return "unknown";
}

/// Checks the roles of a job, and their references to each other.
///
/// Errors: `errc::invalid_argument`, with one sentence that names the role and the problem: no role
/// or more than `limits::roles`; a duplicate or invalid name; no program; a `ready_port` that no
/// worker requests; a reference to an unknown role; roles that start after each other in a cycle;
/// no role whose success the job needs; a policy that contradicts the number of restarts; a field
/// that the role_group sets; two roles that would serve at the same port.
ELASTIC_DECL void validate(const std::vector<role>& roles);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/role.ipp>
#endif

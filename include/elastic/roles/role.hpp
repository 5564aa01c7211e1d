// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>
#include <elastic/base/config.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// A part of a job, with workers, a world and a life of its own.
struct role {
  /// What follows if workers of a role fail.
  enum class policy {
    /// The job fails.
    fail_job,
    /// All workers of the role start again, and no other role notices. When `max_restarts` of the
    /// role's worker_spec are used up, the job fails.
    restart_role,
    /// The same, but workers of the role that can rejoin keep their processes
    /// (`elastic::on_failure::replace`).
    replace,
    /// Of replicas: one that fails starts again, and no other notices. When `max_restarts` of the
    /// role's worker_spec are used up, the job fails.
    restart_worker,
    /// All roles start again. When the restarts of the job are used up, the job fails.
    restart_job,
    /// The role may use up its restarts. Then it has ended, and the others go on.
    ignore,
  };

  /// How a role shows that it is ready, for roles that start after it. A role that has succeeded is
  /// ready in any case.
  enum class readiness {
    /// Each worker of this node has reported its progress, such as step 0
    /// (`worker_channel::progress`).
    progress,
    /// All workers of this node have been started.
    start,
    /// Each worker of this node, or a process that it has started, accepts a connection at its
    /// `ready_port`. It is tried again and again, soon at first and then twice a second, and so
    /// sees connections that are closed at once.
    port,
  };

  /// Where a role is in its life, as one node sees it.
  enum class state {
    /// It has not started: it starts after other roles.
    waiting,
    /// Its workers run, or meet those of other nodes, or start again.
    running,
    /// Its workers were told to end.
    stopping,
    /// All of its workers have ended with success.
    succeeded,
    /// Its workers have failed, and do not start again.
    failed,
    /// It was stopped, or was never started, since the job needs it no more.
    stopped,
  };

  /// What a role waits for before it starts.
  struct condition {
    /// How far another role has come.
    enum class event {
      /// It is ready, see readiness.
      ready,
      /// It has succeeded.
      success,
    };

    /// The name of the other role.
    std::string role;
    event what = event::ready;
  };

  /// Names the role for people, other roles, logs and the workers (ROLE_NAME): 1 to
  /// `limits::role_name_bytes` letters, digits, '-' and '_' of ASCII.
  std::string name;
  /// What the workers of the role are, and how its nodes meet, as if the role were a job of its
  /// own. The role_group sets what the name and the policy decide: `workers.role`,
  /// `workers.on_failure`, `workers.log_dir` and `rendezvous.run_id`, which therefore stay as they
  /// are by default. `signals` is not used.
  launch_config config;
  /// The workers are those of one world, with ranks and a place where they meet. False: they are
  /// replicas (`replica_set`), `nproc_per_node` of them on each node, which nobody meets: how the
  /// nodes of `config` do is not used.
  bool has_world = true;
  /// What an opt-in module adds to the role's agent, such as `add_wire`; empty: nothing. Replicas
  /// have no agent.
  agent_extension::factory extension = {};
  /// What follows if workers fail.
  policy on_failure = policy::fail_job;
  /// The role starts when all of these hold; empty: at once.
  std::vector<condition> starts_after = {};
  /// The name of the role whose end this one does not outlive: it is then stopped, and that is its
  /// success. Empty: the job needs the success of this role.
  std::string stops_with = {};
  /// How others know that this role is ready.
  readiness ready_at = readiness::progress;
  /// The name of the port for `readiness::port`, which `${port.NAME}` in the arguments of the
  /// workers asks for.
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

/// Checks the roles of a job together: their names, and what each says of the others.
///
/// Errors: `errc::invalid_argument`, with one sentence that names the role and what is wrong: no
/// role or more than `limits::roles`, a name that is taken or cannot be, no program, a `ready_port`
/// that no worker asks for, a role that is not there, roles that start after each other, no role
/// whose success the job needs, a policy that contradicts the restarts, a value that the role_group
/// sets, and two roles that would serve at one port.
ELASTIC_DECL void validate(const std::vector<role>& roles);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/role.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/roles/role.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

using role_state = elastic::role::state;

/// A role as the machine sees it. Other roles are named by their index.
struct role_rule {
  struct condition {
    std::size_t role = 0;
    elastic::role::condition::event what = elastic::role::condition::event::ready;
  };

  std::string name;
  elastic::role::policy on_failure = elastic::role::policy::fail_job;
  std::vector<condition> starts_after;
  std::optional<std::size_t> stops_with;
};

/// The end of the agent of a role.
struct role_end {
  enum class kind {
    succeeded,
    /// Its workers failed, and its restarts are used up.
    failed,
    /// It was stopped.
    stopped,
    /// This node left the role because it was marked as bad; the other nodes continue.
    left,
    /// It could not run: its program does not exist, or its rendezvous did not answer.
    broken,
  };

  kind how = kind::succeeded;
  /// The reason, a clause.
  std::string reason;
  /// Whether another run would end in the same way.
  bool is_hopeless = false;
};

/// The next step for a role, and a clause that gives the reason.
struct role_step {
  enum class action {
    start,
    stop,
    /// Do nothing: the role never starts.
    skip,
  };

  std::size_t role = 0;
  action what = action::start;
  std::string reason;
  /// Whether the role stops because another one has succeeded.
  bool is_planned = false;
};

/// The end of the job on this node, with the reason.
struct role_verdict {
  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The role that decided it; empty if the job was stopped from outside.
  std::optional<std::size_t> role;
  std::string reason;
  bool is_hopeless = false;
};

/// Decides which roles of a job start and stop, and how the job ends. Pure: its inputs are events,
/// its outputs steps and reasons. Each node of a job has its own machine, and all of them see the
/// same ends.
///
/// The order of starts has no cycles (see `validate` for roles), so the job always ends: once there
/// is a verdict, all running roles are stopped, and none starts.
class role_machine {
 public:
  /// @param max_restarts  how often all roles may restart
  ELASTIC_DECL role_machine(std::vector<role_rule> roles, int max_restarts);

  /// Call this first.
  ELASTIC_DECL std::vector<role_step> begin();

  /// A running role is ready. Further calls have no effect.
  ELASTIC_DECL std::vector<role_step> ready(std::size_t role);

  /// A role that was started has ended, with all of its workers.
  ELASTIC_DECL std::vector<role_step> ended(std::size_t role, role_end end);

  /// A stop of the job was requested.
  ELASTIC_DECL std::vector<role_step> stop(std::string reason);

  /// Empty until the outcome of the job is decided.
  const std::optional<role_verdict>& verdict() const { return verdict_; }

  /// Whether the job has ended: there is a verdict, and no role runs.
  ELASTIC_DECL bool is_over() const;

  /// How often all roles have restarted.
  int restarts() const { return restarts_; }

  role_state state(std::size_t role) const { return roles_[role].state; }

  /// Whether the role has been ready since it started.
  bool is_ready(std::size_t role) const { return roles_[role].is_ready; }

  /// The reason for the role's state, a clause.
  const std::string& reason(std::size_t role) const { return roles_[role].reason; }

 private:
  struct entry {
    role_rule rule;
    role_state state = role_state::waiting;
    std::string reason;
    bool is_ready = false;
  };

  ELASTIC_DECL static entry begun(role_rule rule);

  bool is_active(const entry& role) const {
    return role.state == role_state::running || role.state == role_state::stopping;
  }
  ELASTIC_DECL bool any_active() const;

  ELASTIC_DECL void judge_failure(std::size_t role, const role_end& end);
  ELASTIC_DECL void fail(std::size_t role, std::string reason, bool is_hopeless = false);

  // Takes steps until none is left to take.
  ELASTIC_DECL std::vector<role_step> settle();
  ELASTIC_DECL void stop_all(std::vector<role_step>& steps, const std::string& reason);
  ELASTIC_DECL bool stop_followers(std::vector<role_step>& steps);
  ELASTIC_DECL bool start_next(std::vector<role_step>& steps);
  ELASTIC_DECL void judge_success();

  ELASTIC_DECL bool holds(const role_rule::condition& condition) const;
  // The reason why the condition can never hold; empty: it can.
  ELASTIC_DECL std::string obstacle(const role_rule::condition& condition) const;

  std::vector<entry> roles_;
  int max_restarts_;
  int restarts_ = 0;
  /// The reason why all roles restart. Set until the last of them has ended.
  std::optional<std::string> restart_reason_;
  std::optional<role_verdict> verdict_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_machine.ipp>
#endif

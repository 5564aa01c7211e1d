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

/// What the machine knows of a role. Other roles stand in it by their places.
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

/// How the agent of a role has ended.
struct role_end {
  enum class kind {
    succeeded,
    /// Its workers failed, and its restarts are used up.
    failed,
    /// It was stopped, by whomever.
    stopped,
    /// This node left the role because it was called bad; other nodes go on.
    left,
    /// It could not do its work: a program that is not there, a rendezvous that did not answer.
    broken,
  };

  kind how = kind::succeeded;
  /// Why, half a sentence.
  std::string reason;
  /// A new start would end in the same way.
  bool is_hopeless = false;
};

/// What is to be done with a role, and the half sentence that says why.
struct role_step {
  enum class action {
    start,
    stop,
    /// Nothing: it never starts.
    skip,
  };

  std::size_t role = 0;
  action what = action::start;
  std::string reason;
};

/// How the job ends on this node, and why.
struct role_verdict {
  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The role that decided it; none if the job was stopped from outside.
  std::optional<std::size_t> role;
  std::string reason;
  bool is_hopeless = false;
};

/// Decides what follows for the roles of a job from what happens to each. Pure: events go in, steps
/// and reasons come out. On each node of a job there is one, and all of them see the same ends.
///
/// The roles start in a graph without cycles (`validate` of the roles). The job ends however the
/// roles end: when a verdict is there, all that runs is stopped, and nothing starts any more.
class role_machine {
 public:
  /// @param max_restarts  how often all roles may start again
  ELASTIC_DECL role_machine(std::vector<role_rule> roles, int max_restarts);

  /// Call this first.
  ELASTIC_DECL std::vector<role_step> begin();

  /// A role that runs is ready. Repetitions have no effect.
  ELASTIC_DECL std::vector<role_step> ready(std::size_t role);

  /// A role that was started has ended, all of it.
  ELASTIC_DECL std::vector<role_step> ended(std::size_t role, role_end end);

  /// Somebody asked the job to stop.
  ELASTIC_DECL std::vector<role_step> stop(std::string reason);

  /// None until the end of the job is decided.
  const std::optional<role_verdict>& verdict() const { return verdict_; }

  /// The job has ended: the verdict is there, and no role runs.
  ELASTIC_DECL bool is_over() const;

  /// How often all roles have started again.
  int restarts() const { return restarts_; }

  role_state state(std::size_t role) const { return roles_[role].state; }

  /// Why the role is in its state, half a sentence.
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

  // What follows from all that is known, until nothing more does.
  ELASTIC_DECL std::vector<role_step> settle();
  ELASTIC_DECL void stop_all(std::vector<role_step>& steps, const std::string& reason);
  ELASTIC_DECL bool stop_followers(std::vector<role_step>& steps);
  ELASTIC_DECL bool start_next(std::vector<role_step>& steps);
  ELASTIC_DECL void judge_success();

  ELASTIC_DECL bool holds(const role_rule::condition& condition) const;
  // Why it can never hold; empty: it can.
  ELASTIC_DECL std::string obstacle(const role_rule::condition& condition) const;

  std::vector<entry> roles_;
  int max_restarts_;
  int restarts_ = 0;
  /// Why all roles are to start again, while the last of them ends.
  std::optional<std::string> restart_reason_;
  std::optional<role_verdict> verdict_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/role_machine.ipp>
#endif

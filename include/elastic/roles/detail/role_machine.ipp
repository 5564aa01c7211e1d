// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_machine.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL role_machine::role_machine(std::vector<role_rule> roles, int max_restarts)
    : max_restarts_(max_restarts) {
  for (role_rule& rule : roles) roles_.push_back(begun(std::move(rule)));
}

ELASTIC_DECL role_machine::entry role_machine::begun(role_rule rule) {
  entry role;
  role.rule = std::move(rule);
  return role;
}

ELASTIC_DECL std::vector<role_step> role_machine::begin() { return settle(); }

ELASTIC_DECL std::vector<role_step> role_machine::ready(std::size_t role) {
  if (roles_[role].state == role_state::running) roles_[role].is_ready = true;
  return settle();
}

ELASTIC_DECL std::vector<role_step> role_machine::ended(std::size_t role, role_end end) {
  using kind = role_end::kind;
  entry& self = roles_[role];
  const bool was_stopping = self.state == role_state::stopping;
  // The end of a role after a request to stop decides nothing, so the reason for the request stays.
  if (!was_stopping || end.how == kind::succeeded) self.reason = end.reason;
  if (end.how == kind::succeeded) {
    self.state = role_state::succeeded;
  } else if (was_stopping || end.how == kind::stopped) {
    self.state = role_state::stopped;
  } else {
    self.state = role_state::failed;
  }
  if (!verdict_ && !restart_reason_ && !was_stopping) {
    const std::string why = end.reason.empty() ? "" : ": " + end.reason;
    switch (end.how) {
      case kind::succeeded: break;
      case kind::failed: judge_failure(role, end); break;
      case kind::stopped:
        verdict_ = role_verdict{worker_state::stopped, role,
                                fmt::format("role '{}' was stopped{}", self.rule.name, why)};
        break;
      case kind::left:
        fail(role, fmt::format("role '{}' left on this node{}", self.rule.name, why));
        break;
      case kind::broken: fail(role, fmt::format("role '{}'{}", self.rule.name, why)); break;
    }
  }
  return settle();
}

ELASTIC_DECL std::vector<role_step> role_machine::stop(std::string reason) {
  if (!verdict_) verdict_ = role_verdict{worker_state::stopped, std::nullopt, std::move(reason)};
  return settle();
}

ELASTIC_DECL bool role_machine::is_over() const { return verdict_ && !any_active(); }

ELASTIC_DECL bool role_machine::any_active() const {
  return std::any_of(roles_.begin(), roles_.end(),
                     [this](const entry& role) { return is_active(role); });
}

ELASTIC_DECL void role_machine::judge_failure(std::size_t role, const role_end& end) {
  const role_rule& rule = roles_[role].rule;
  const std::string what = fmt::format("role '{}' failed: {}", rule.name, end.reason);
  if (rule.on_failure == elastic::role::policy::ignore) return;
  if (rule.on_failure != elastic::role::policy::restart_job || end.is_hopeless) {
    return fail(role, what, end.is_hopeless);
  }
  if (restarts_ < max_restarts_) {
    ++restarts_;
    restart_reason_ =
        fmt::format("{}; restart {} of {} of the job", what, restarts_, max_restarts_);
    return;
  }
  const std::string used_up =
      max_restarts_ == 0   ? "no restarts of the job were allowed"
      : max_restarts_ == 1 ? "the only restart of the job has been used"
                           : fmt::format("all {} restarts of the job have been used",
                                         max_restarts_);
  fail(role, fmt::format("{}; {}", what, used_up));
}

ELASTIC_DECL void role_machine::fail(std::size_t role, std::string reason, bool is_hopeless) {
  verdict_ = role_verdict{worker_state::failed, role, std::move(reason), is_hopeless};
}

ELASTIC_DECL std::vector<role_step> role_machine::settle() {
  std::vector<role_step> steps;
  for (;;) {
    if (verdict_) {
      stop_all(steps, verdict_->reason);
      return steps;
    }
    if (restart_reason_) {
      stop_all(steps, *restart_reason_);
      if (any_active()) return steps;
      restart_reason_.reset();
      for (entry& role : roles_) role = begun(std::move(role.rule));
    }
    if (stop_followers(steps) || start_next(steps)) continue;
    judge_success();
    if (!verdict_) return steps;
  }
}

ELASTIC_DECL void role_machine::stop_all(std::vector<role_step>& steps, const std::string& reason) {
  const bool is_planned = verdict_ && verdict_->state == worker_state::succeeded;
  for (std::size_t place = 0; place < roles_.size(); ++place) {
    entry& role = roles_[place];
    if (role.state != role_state::running && role.state != role_state::waiting) continue;
    const bool runs = role.state == role_state::running;
    role.state = runs ? role_state::stopping : role_state::stopped;
    role.reason = reason;
    if (runs) steps.push_back({place, role_step::action::stop, reason, is_planned});
  }
}

/// Stops the roles whose leader (`stops_with`) has ended.
ELASTIC_DECL bool role_machine::stop_followers(std::vector<role_step>& steps) {
  bool has_changed = false;
  for (std::size_t place = 0; place < roles_.size(); ++place) {
    entry& role = roles_[place];
    if (!role.rule.stops_with) continue;
    if (role.state != role_state::running && role.state != role_state::waiting) continue;
    const entry& leader = roles_[*role.rule.stops_with];
    if (leader.state == role_state::waiting || is_active(leader)) continue;
    const bool runs = role.state == role_state::running;
    role.state = runs ? role_state::stopping : role_state::stopped;
    role.reason = fmt::format("role '{}' has {}", leader.rule.name,
                              leader.state == role_state::stopped ? "been stopped"
                                                                  : to_string(leader.state));
    steps.push_back({place, runs ? role_step::action::stop : role_step::action::skip, role.reason,
                     leader.state == role_state::succeeded});
    has_changed = true;
  }
  return has_changed;
}

/// Starts the roles whose conditions all hold, and gives up those with a condition that can never
/// hold.
ELASTIC_DECL bool role_machine::start_next(std::vector<role_step>& steps) {
  bool has_changed = false;
  for (std::size_t place = 0; place < roles_.size() && !verdict_; ++place) {
    entry& role = roles_[place];
    if (role.state != role_state::waiting) continue;
    bool all_hold = true;
    std::string why_not;
    for (const role_rule::condition& condition : role.rule.starts_after) {
      all_hold = all_hold && holds(condition);
      if (why_not.empty()) why_not = obstacle(condition);
    }
    if (!all_hold && why_not.empty()) continue;
    has_changed = true;
    if (all_hold) {
      role.state = role_state::running;
      role.reason = role.rule.starts_after.empty() ? "it waits for no other role"
                                                   : "what it waits for has happened";
      steps.push_back({place, role_step::action::start, role.reason});
      continue;
    }
    role.state = role_state::stopped;
    role.reason = "it can never start: " + why_not;
    if (role.rule.stops_with) {
      steps.push_back({place, role_step::action::skip, role.reason});
    } else {
      fail(place, fmt::format("role '{}' can never start: {}", role.rule.name, why_not));
    }
  }
  return has_changed;
}

ELASTIC_DECL void role_machine::judge_success() {
  std::optional<std::size_t> last;
  std::string names;
  for (std::size_t place = 0; place < roles_.size(); ++place) {
    const entry& role = roles_[place];
    if (role.rule.stops_with) continue;
    // Its policy is `ignore`: any other failure has already led to a verdict.
    if (role.state == role_state::failed) continue;
    if (role.state != role_state::succeeded) return;
    last = place;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", role.rule.name);
  }
  if (!last) {
    verdict_ = role_verdict{worker_state::failed, std::nullopt, "no role has succeeded"};
    return;
  }
  const bool is_one = names.find(',') == std::string::npos;
  verdict_ = role_verdict{
      worker_state::succeeded, last,
      fmt::format("{} {} {} succeeded", is_one ? "role" : "roles", names, is_one ? "has" : "have")};
}

ELASTIC_DECL bool role_machine::holds(const role_rule::condition& condition) const {
  const entry& other = roles_[condition.role];
  if (other.state == role_state::succeeded) return true;
  return condition.what == elastic::role::condition::event::ready && other.is_ready;
}

ELASTIC_DECL std::string role_machine::obstacle(const role_rule::condition& condition) const {
  const entry& other = roles_[condition.role];
  const bool is_over = other.state == role_state::failed || other.state == role_state::stopped;
  if (holds(condition) || !is_over) return {};
  const bool needs_success = condition.what == elastic::role::condition::event::success;
  return fmt::format("role '{}' has {}{}", other.rule.name,
                     other.state == role_state::failed ? "failed" : "been stopped",
                     needs_success ? "" : " before it was ready");
}

}  // namespace elastic::detail

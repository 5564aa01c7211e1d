// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/agent_step.hpp>

namespace elastic::detail {

ELASTIC_DECL agent_step next_step(const agent_view& view) {
  using action = agent_step::action;
  const bool has_succeeded = view.workers == worker_state::succeeded;
  if (view.is_late) return {action::finish_late, "the job succeeded without this node"};
  // A stop at the exit barrier only ends the wait: the workers have already succeeded.
  if (has_succeeded && view.is_reported && !view.after_round) {
    return {action::finish_succeeded, "the workers succeeded"};
  }
  if (view.is_stopping) return {action::stop, "a stop was requested"};
  if (view.is_node_bad) return {action::leave_job, "this node was called bad"};
  if (view.after_round) {
    return view.after_round->restart ? agent_step{action::restart, "the round ended"}
                                     : agent_step{action::give_up, "no restart is allowed"};
  }
  if (view.workers == worker_state::healthy) return {action::watch, "the workers run"};
  if (has_succeeded) return {action::wait_for_others, "the workers of this node succeeded"};
  if (!view.is_reported) return {action::report_failure, "workers of this node failed"};
  return {action::finish_failed, "the failure led to no further round"};
}

}  // namespace elastic::detail

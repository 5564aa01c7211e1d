// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/worker_state.hpp>

#include <optional>
#include <string_view>

namespace elastic::detail {

/// The facts from which an agent chooses its next step.
struct agent_view {
  /// The job has succeeded without this node.
  bool is_late = false;
  /// The agent was asked to stop.
  bool is_stopping = false;
  /// A worker or the node check reported that this node is bad.
  bool is_node_bad = false;
  /// The state of the attempt's workers; `init` if they were not started.
  worker_state workers = worker_state::init;
  /// The other nodes were informed of how the workers ended, as far as they could be.
  bool is_reported = false;
  /// The decision that follows the end of the round; empty while the round continues.
  std::optional<restart_ledger::decision> after_round;
};

/// The next step of an agent, and a clause that gives the reason.
struct agent_step {
  enum class action {
    /// Watch the workers until their outcome is known, the round ends or a stop is requested.
    watch,
    /// Wait at the exit barrier for the workers of the other nodes.
    wait_for_others,
    /// Report to the other nodes that workers failed here, and learn the decision.
    report_failure,
    /// Stop the workers and begin the next attempt.
    restart,
    /// Stop the workers; the job has failed.
    give_up,
    /// Stop the workers and leave the job, which continues without this node.
    leave_job,
    /// Stop the workers as requested.
    stop,
    /// Nothing is left to do; the job has succeeded, failed, or succeeded without this node.
    finish_succeeded,
    finish_failed,
    finish_late,
  };
  action what = action::watch;
  std::string_view reason;
};

/// Chooses the next step of an agent. Pure: the same view leads to the same step.
inline agent_step next_step(const agent_view& view) {
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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_failure.hpp>
#include <elastic/agent/worker_state.hpp>

#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// How a job ended on this node.
struct run_result {
  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The workers of the last attempt that failed, in the order in which they did; those that ended
  /// because the agent stopped them are marked so.
  std::vector<worker_failure> failures;
  /// How often the group was started again after a failure, and how often that was allowed.
  int restarts = 0;
  int max_restarts = 0;
  /// Why the run ended as it did, one sentence.
  std::string reason;
  /// This node left the job because a worker of it said that the node is bad; `failed`, for the
  /// node alone.
  bool left_as_bad = false;
  /// Where the log files are; empty where none are kept.
  std::string log_directory;
  /// The signal that a `stop` named, where it was that which ended the run.
  std::optional<int> stop_signal;
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_failure.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
  /// Where the log files are; empty if none are kept.
  std::string log_directory;
  /// The signal that a `stop` named, if it was that which ended the run.
  std::optional<int> stop_signal;
  /// After success, if the workers ran a function: what it returned in each worker of this node,
  /// by rank in the job; null for one that returns nothing. A worker that ended by `exit(0)` before
  /// its function returned has none.
  std::map<int, nlohmann::json> return_values = {};

  /// What the function returned in the worker of this rank, as a `T`.
  /// Errors: `errc::invalid_argument` if there is no such value, or if it is no `T`.
  template <class T>
  T value_of(int rank) const {
    const auto found = return_values.find(rank);
    if (found == return_values.end()) {
      throw error(errc::invalid_argument,
                  fmt::format("there is no return value of rank {}: there are {} of this node, {}",
                              rank, return_values.size(),
                              return_values.empty()
                                  ? "since no function ran or the job did not succeed"
                                  : fmt::format("of ranks {} to {}", return_values.begin()->first,
                                                return_values.rbegin()->first)));
    }
    try {
      return found->second.template get<T>();
    } catch (const nlohmann::json::exception& failure) {
      throw error(errc::invalid_argument,
                  fmt::format("the return value of rank {} does not fit: {}", rank,
                              detail::json_complaint(failure)));
    }
  }
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_replacements.hpp>
#include <elastic/agent/worker_starts.hpp>
#include <elastic/agent/worker_failure.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

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
  /// How the workers of this node were started in all attempts; empty without an agent_extension
  /// that takes part in that.
  worker_starts starts;
  /// The ranks of this node that were replaced while other workers of the job went on.
  rank_replacements replacements;
  /// Why the run ended as it did, one sentence.
  std::string reason;
  /// This node left the job because a worker of it or its node check said that it is bad; `failed`,
  /// for the node alone.
  bool left_as_bad = false;
  /// A new start of the job would end in the same way: a worker asked for no restart, or attempts
  /// came no further (`restart_terms::while_progress`). Known on the node where it was decided.
  bool is_hopeless = false;
  /// Where the log files are; empty if none are kept.
  std::string log_directory;
  /// The signal that a `stop` named, if it was that which ended the run.
  std::optional<int> stop_signal;
  /// After success, if the workers ran a function: what it returned in each worker of this node,
  /// by rank in the job, as the text of JSON; "null" for one that returns nothing. A worker that
  /// ended by `exit(0)` before its function returned has none.
  std::map<int, std::string> return_values = {};

  /// Errors: `errc::invalid_argument` if there is no such value.
  ELASTIC_DECL const std::string& return_value_of(int rank) const;

  /// What the function returned in the worker of this rank, as a `T`.
  /// Errors: `errc::invalid_argument` if there is no such value, or if it is no `T`.
  /// Needs <nlohmann/json.hpp>, which <elastic/functions.hpp> includes.
  template <class T, class Json = nlohmann::json>
  T value_of(int rank) const {
    const std::string& text = return_value_of(rank);
    try {
      return Json::parse(text).template get<T>();
    } catch (const typename Json::exception& failure) {
      throw error(errc::invalid_argument,
                  fmt::format("the return value of rank {} does not fit: {}", rank,
                              detail::json_complaint(failure.what())));
    }
  }
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/run_result.ipp>
#endif

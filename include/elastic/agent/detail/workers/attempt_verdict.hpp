// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>

#include <cstddef>
#include <string_view>

namespace elastic::detail {

/// The ends of the workers of one attempt on this node so far.
struct attempt_tally {
  std::size_t workers = 0;
  std::size_t ended = 0;
  /// How many of the ended workers succeeded.
  std::size_t succeeded = 0;
  /// A worker failed, and nobody had asked it to end.
  bool has_failure = false;
  /// A worker reported that this node is bad.
  bool is_node_bad = false;
  /// The workers were asked to end.
  bool is_stopping = false;
};

/// The state of the worker group, and a clause that gives the reason.
struct attempt_verdict {
  worker_state state = worker_state::healthy;
  std::string_view reason;
};

/// Judges an attempt whose workers were all started; `healthy` while its outcome is open.
inline attempt_verdict judge(const attempt_tally& tally) {
  if (tally.succeeded == tally.workers) {
    return {worker_state::succeeded, "all workers ended with success"};
  }
  if (tally.has_failure) return {worker_state::failed, "a worker failed"};
  if (tally.is_node_bad) return {worker_state::failed, "a worker said that this node is bad"};
  if (tally.is_stopping && tally.ended == tally.workers) {
    return {worker_state::stopped, "all workers ended after they were asked to"};
  }
  return {worker_state::healthy, "workers run"};
}

}  // namespace elastic::detail

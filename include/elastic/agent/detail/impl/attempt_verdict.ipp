// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/attempt_verdict.hpp>

namespace elastic::detail {

ELASTIC_DECL attempt_verdict judge(const attempt_tally& tally) {
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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace elastic {

/// The state of a worker group, in torchelastic's words (torch.distributed.elastic WorkerState).
enum class worker_state {
  /// There was no round yet, or the group is between two rounds.
  init,
  /// All workers run.
  healthy,
  /// At least one worker failed and the group will be restarted.
  failed,
  /// The agent was asked to stop and has stopped the workers.
  stopped,
  /// All workers succeeded.
  succeeded,
};

/// The name as torchelastic writes it: "HEALTHY" and the like.
constexpr std::string_view to_string(worker_state state) {
  switch (state) {
    case worker_state::init: return "INIT";
    case worker_state::healthy: return "HEALTHY";
    case worker_state::failed: return "FAILED";
    case worker_state::stopped: return "STOPPED";
    case worker_state::succeeded: return "SUCCEEDED";
  }
  return "UNKNOWN";
}

}  // namespace elastic

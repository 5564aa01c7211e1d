// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>

#include <string>

#include <fmt/format.h>

namespace elastic {

/// Why the workers of a node cannot go on as they are.
enum class group_change {
  /// A worker of this node failed.
  worker_failed,
  /// A node joined or was lost.
  membership_changed,
};

/// What to do about it, with the sentence that says why.
struct restart_decision {
  bool restart = false;
  /// How many restarts are left after this one.
  int remaining = 0;
  std::string reason;
};

/// Decides whether the worker group starts again. Failures use up restarts; a change of the
/// membership is nobody's failure and is free.
inline restart_decision decide_restart(group_change change, int remaining, int max_restarts) {
  ELASTIC_ASSERT(remaining >= 0 && remaining <= max_restarts);
  if (change == group_change::membership_changed) {
    return {true, remaining, "the membership changed; this uses up no restart"};
  }
  if (remaining == 0) {
    return {false, 0,
            max_restarts == 0 ? std::string("no restarts were allowed (--max-restarts 0)")
                              : fmt::format("all {} restarts are used up", max_restarts)};
  }
  return {true, remaining - 1,
          fmt::format("restart {} of {}", max_restarts - remaining + 1, max_restarts)};
}

}  // namespace elastic

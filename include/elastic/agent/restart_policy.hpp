// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <string>

#include <fmt/format.h>

namespace elastic {

/// Whether the workers start again, with the half sentence that says why.
struct restart_decision {
  bool restart = false;
  std::string reason;
};

/// Decides whether the worker group starts again. Failures use up restarts; a change of the
/// membership is nobody's failure and is free.
///
/// @param failures      how often workers of the job have failed, this time included
/// @param max_restarts  how often they may start again because of that
inline restart_decision decide_restart(change_kind why, int failures, int max_restarts) {
  if (why != change_kind::worker_failed) {
    return {true, "the membership changed; this uses up no restart"};
  }
  if (max_restarts == 0) return {false, "no restarts were allowed (--max-restarts 0)"};
  if (failures > max_restarts) {
    return {false, fmt::format("all {} restarts are used up", max_restarts)};
  }
  return {true, fmt::format("restart {} of {}", failures, max_restarts)};
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace elastic {

/// Where a role of a job is in its life, as one node sees it.
enum class role_state {
  /// It has not started: it starts after other roles.
  waiting,
  /// Its workers run, or meet those of other nodes, or start again.
  running,
  /// Its workers were told to end.
  stopping,
  /// All of its workers have ended with success.
  succeeded,
  /// Its workers have failed, and do not start again.
  failed,
  /// It was stopped, or was never started, since the job needs it no more.
  stopped,
};

/// The name in files and messages.
constexpr std::string_view to_string(role_state state) {
  switch (state) {
    case role_state::waiting: return "waiting";
    case role_state::running: return "running";
    case role_state::stopping: return "stopping";
    case role_state::succeeded: return "succeeded";
    case role_state::failed: return "failed";
    case role_state::stopped: return "stopped";
  }
  return "unknown";
}

}  // namespace elastic

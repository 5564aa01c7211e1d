// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/roles/role_state.hpp>

#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// How a job of several roles ended on this node.
struct roles_result {
  /// How one role of a job ended on this node.
  struct entry {
    std::string name;
    /// `succeeded`, `failed` or `stopped`.
    role_state state = role_state::waiting;
    /// Why, half a sentence.
    std::string reason;
    /// How its workers ended, the last time that the role ran; none if it never did.
    std::optional<run_result> run;
  };

  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// Why, one sentence.
  std::string reason;
  /// The role that decided it; empty if the job was stopped from outside.
  std::string decided_by;
  /// In the order of the roles that the job was made from.
  std::vector<entry> roles;
  /// How often all roles were started again.
  int restarts = 0;
  /// A new start of the job would end in the same way.
  bool is_hopeless = false;
  /// Where the log files are; empty if none are kept.
  std::string log_directory;
  /// The signal of the request that stopped the job.
  std::optional<int> stop_signal;
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>
#include <elastic/contract/job_roles.hpp>

#include <string>
#include <vector>

namespace elastic {

/// The roles of a job, as the role_group of this node sees them.
struct group_state {
  /// The state of each role, and its workers on all nodes.
  job_roles document;
  /// Why each role is in its state, a clause for each.
  std::vector<std::string> reasons;
  /// The outcome of the job, and the reason; `init` until it is decided.
  worker_state verdict = worker_state::init;
  std::string reason;
  /// The job has ended: no role runs any more.
  bool is_over = false;
  /// How often all roles were restarted.
  int restarts = 0;
};

}  // namespace elastic

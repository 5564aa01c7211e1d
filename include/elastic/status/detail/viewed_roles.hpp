// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/detail/roles_document.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace elastic::detail {

/// The roles of a job, as the group of one node sees them.
struct viewed_roles {
  struct role {
    /// Its name and state, and its workers on all nodes.
    job_roles::role shown = {};
    /// Why it is in its state, half a sentence.
    std::string reason = {};
    /// The settings of the role: "restart-role"; "trainer:ready".
    std::string on_failure = {};
    std::vector<std::string> starts_after = {};
    std::string stops_with = {};
    /// False: its workers are replicas.
    bool has_world = true;
  };

  std::string run_id = {};
  std::string node = {};
  std::int64_t began_us = 0;
  /// "running", "stopping", "succeeded", "failed" or "stopped", and why.
  std::string state = "running";
  std::string reason = {};
  /// The restarts of all roles so far, and their limit.
  std::int64_t restarts = 0;
  std::int64_t max_restarts = 0;
  /// The roles in the order of the job.
  std::vector<role> roles = {};
};

}  // namespace elastic::detail

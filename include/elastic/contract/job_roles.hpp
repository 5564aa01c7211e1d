// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// The roles of a job, and where the workers of each are, as the workers of a job of several roles
/// get them. docs/roles.md has the fields of the file.
struct job_roles {
  /// A worker of a role.
  struct worker {
    std::int64_t rank = 0;
    int local_rank = 0;
    std::string node;
    std::string address;
    std::map<std::string, std::uint16_t, std::less<>> ports = {};

    friend bool operator==(const worker&, const worker&) = default;
  };

  /// A role, its state and its workers.
  struct role {
    std::string name;
    /// "waiting", "running" and so on.
    std::string state = "waiting";
    bool is_ready = false;
    /// The number of the round in which its workers run; empty before the first.
    std::optional<std::int64_t> epoch = {};
    /// In the order of their ranks.
    std::vector<worker> workers = {};

    friend bool operator==(const role&, const role&) = default;
  };

  /// Increases with each change.
  std::int64_t revision = 0;
  /// In the order of the job's description.
  std::vector<role> roles = {};

  friend bool operator==(const job_roles&, const job_roles&) = default;
};

}  // namespace elastic

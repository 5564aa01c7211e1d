// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task_group.hpp>
#include <elastic/roles/role.hpp>
#include <elastic/agent/agent_services.hpp>
#include <program/output/merged_output.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace elasticrun {

/// `--merge-output` for a job of several roles: the workers of each role have their own console.
class role_output {
 public:
  /// @param merges  indexed by role: whether the role has one
  role_output(asio::any_io_executor executor, std::vector<elastic::role> roles,
              std::vector<bool> merges);

  /// Puts a console between the agent that is about to run a role and its outputs.
  void complete(std::size_t role, elastic::agent_services& services);
  elastic::task<void> close();

 private:
  asio::any_io_executor executor_;
  std::vector<elastic::role> roles_;
  std::vector<bool> merges_;
  /// The consoles of all runs of the roles: earlier ones may still have lines to show.
  std::vector<std::shared_ptr<merged_output>> consoles_;
  elastic::task_group tasks_;
};

}  // namespace elasticrun

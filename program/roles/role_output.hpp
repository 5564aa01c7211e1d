// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task_group.hpp>
#include <elastic/roles/role.hpp>
#include <elastic/roles/role_extension.hpp>
#include <program/output/merged_output.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace elasticrun {

/// `--merge-output` for a job of several roles: the workers of each role have their own console.
class role_output final : public elastic::role_extension {
 public:
  /// @param merges  indexed by role: whether the role has one
  role_output(std::vector<elastic::role> roles, std::vector<bool> merges);

  void begin(asio::any_io_executor executor, const elastic::agent_services& services,
             elastic::job_command::handler commands) override;
  void prepare(std::size_t role, elastic::agent_services& services) override;
  void changed(state) override {}
  elastic::task<void> close() override;

 private:
  std::vector<elastic::role> roles_;
  std::vector<bool> merges_;
  asio::any_io_executor executor_;
  /// The consoles of all runs of the roles: earlier ones may still have lines to show.
  std::vector<std::shared_ptr<merged_output>> consoles_;
  std::unique_ptr<elastic::task_group> tasks_;
};

}  // namespace elasticrun

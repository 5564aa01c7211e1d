// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/program_options.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/roles/role_group.hpp>
#include <elastic/status/roles_monitor.hpp>
#include <elastic/status/status_server.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace elasticrun {

/// Shows a job of several roles on one status server, at the address of --status. Without --status,
/// this node only reports to the node that shows each role.
class role_status {
 public:
  /// Errors: those of `parse_status_address` and `read_status_token`.
  role_status(const elastic::role_group::options& job, const elastic::program_options& program);

  /// Whether a job needs it: this node shows the job, or another node may show it.
  static bool is_needed(const elastic::role_group::options& job,
                        const elastic::program_options& program);

  /// Begins to show the job if this node does; `commands` carries out the commands of clients.
  /// Errors: those of the constructor of status_server.
  void serve(asio::any_io_executor executor, const elastic::agent_services& services,
             elastic::job_command::handler commands);

  /// Adds a monitor to the agent that is about to run a role.
  void complete(std::size_t role, elastic::agent_services& services);
  void change(elastic::role_group::snapshot now);
  elastic::task<void> close();

 private:
  std::vector<elastic::role> roles_;
  /// Empty: this node does not show the job.
  std::optional<elastic::status_server::options> options_;
  elastic::roles_monitor::snapshot view_;
  std::shared_ptr<elastic::roles_monitor> monitor_;
  std::unique_ptr<elastic::status_server> server_;
};

}  // namespace elasticrun

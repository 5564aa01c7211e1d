// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/roles/detail/role_plan.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// A command for several roles: passes it to all at once, and sums up their outcomes.
///
/// Thread-safety: none.
class role_command {
 public:
  explicit role_command(job_command command) : command_(std::move(command)) {}

  role_command(const role_command&) = delete;
  role_command& operator=(const role_command&) = delete;

  /// Adds a role that runs.
  ELASTIC_DECL void add(std::string role, role_plan::runner runner);

  /// Adds a role that cannot carry out the command, with the reason.
  ELASTIC_DECL void add_idle(std::string role, std::string why);

  /// Carries out the command: it is done if there is a role that runs and each of them has done it.
  /// Errors: the first of a role. Cancellation, of any type: cancels all roles.
  /// @param strand runs the roles' tasks, and the caller.
  ELASTIC_DECL task<job_command::outcome> run(asio::any_io_executor strand);

 private:
  struct share {
    std::string role;
    /// Empty: the role does not run.
    std::optional<role_plan::runner> runner;
    job_command::outcome outcome;
  };

  ELASTIC_DECL task<void> run_share(std::size_t place);
  ELASTIC_DECL job_command::outcome sum() const;
  // A section for each role if the outcomes have several lines, otherwise one line.
  ELASTIC_DECL std::string text() const;

  job_command command_;
  std::vector<share> shares_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_command.ipp>
#endif

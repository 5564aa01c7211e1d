// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/cli/program_config.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/launch/program_options.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/roles/role_group.hpp>
#include <program/roles/job_file.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// A job of several roles, ready to run.
struct job_of_roles {
  elastic::role_group::options options;
  elastic::signal_plan signals;
  /// The options of the program, such as --status and --trace.
  elastic::program_options program = {};
  /// The options of each role.
  std::vector<elastic::program_config> configs = {};
  /// Warnings about settings that are valid but probably a mistake, one sentence each.
  std::vector<std::string> warnings = {};
};

/// Makes the job that a job file describes. Parses the options of each role as a command line.
/// Errors: `errc::invalid_argument` and `errc::file_access`; the message names the role and the
/// mistake.
job_of_roles make_job(const job_file& file, const elastic::command_line::facts& facts);

/// Runs the job of a command line with --job, or prints it (--print-job).
/// Result: the exit code.
/// Errors: those of `read_job_file`, `parse_job_file`, `make_job` and `role_group::run`.
elastic::task<int> run_job(elastic::command_line line, elastic::command_line::facts facts,
                           elastic::logger log);

}  // namespace elasticrun

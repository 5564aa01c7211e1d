// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <functional>
#include <string>

namespace elastic {

struct agent_services;
struct launch_config;

/// The options of a program that runs an agent, besides the signals of its launch_config: see
/// `run_as_program`. The trace and the status need the opt-in module status: `add_status`.
struct program_options {
  /// The file that takes this node out of the job when it appears, see `wait_for_drain_file`;
  /// empty: none.
  std::string drain_file = {};
  /// The file for a Chrome trace of the job, see trace_file; empty: none.
  std::string trace = {};
  /// The address at which the program serves the status of the job, as for `parse_status_address`;
  /// empty: none.
  std::string status = {};
  /// The file with the token that clients of the status server must send; empty: see
  /// status_server::options.
  std::string status_token_file = {};
  /// Receives the URL of the status server once it listens, with the token if the server has
  /// generated one. Default: "Status: <URL>" goes to stderr.
  std::function<void(const std::string& url)> on_status = {};
  /// Adds the parts of an opt-in module that the options above need to the services of the agent.
  /// Called by the constructor of program_run, which throws its errors. Default: nothing is added,
  /// and an option above that needs the module is refused.
  std::function<void(const launch_config& config, const program_options& options,
                     agent_services& services)>
      complete = {};
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>
#include <elastic/roles/role.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elasticrun {

/// The description of a role in a job file.
struct role_entry {
  std::string name;
  /// The options of the role, as on a command line: "--nproc-per-node=4". Those of the whole job
  /// come first.
  std::vector<std::string> options;
  /// The script and its arguments; --no-python or -m, if used, precedes them.
  std::vector<std::string> command;
  /// False if the file has processes_per_node instead of nproc_per_node.
  bool has_world = true;
  std::optional<elastic::role::policy> on_failure = {};
  std::vector<elastic::role::condition> starts_after = {};
  std::string stops_with = {};
  elastic::role::readiness readiness = elastic::role::readiness::progress;
  /// The name of the port for `readiness::port`.
  std::string ready_port = {};
};

/// The content of a job file (`elasticrun --job`).
struct job_file {
  std::string name;
  /// How often all roles may restart.
  int restarts = 0;
  std::string log_dir = {};
  /// The path of the journal; empty: in the log directory.
  std::string journal = {};
  std::vector<role_entry> roles = {};
  /// The fingerprint of the file, which does not depend on --set: the rendezvous setting
  /// `fingerprint`.
  std::string fingerprint = {};
};

/// Parses a job file, which is TOML. Checks each key and its value.
///
/// @param source    the path of the file, for messages; its stem is the default name of the job
/// @param settings  "ROLE.KEY=VALUE" or "KEY=VALUE", which override the file
/// @param outer     options beside --job, which apply to every role; a value in the file that
///                  contradicts one is an error
/// Errors: `errc::invalid_argument`, with the file, the line and what is allowed there.
job_file parse_job_file(std::string_view text, const std::string& source,
                        const std::vector<std::string>& settings,
                        const std::vector<elastic::command_line::option>& outer,
                        const elastic::command_line::facts& facts);

/// Reads a job file; "-" is standard input.
/// Errors: `errc::file_access` if it cannot be read; `errc::invalid_argument` if it is larger than
/// `limits::job_file_bytes`.
std::string read_job_file(const std::string& path);

/// The job as the text of a job file, as --print-job shows it.
std::string text_of(const job_file& job);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>
#include <elastic/cli/command_line_facts.hpp>
#include <elastic/roles/role.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elasticrun {

/// A role as the file of a job describes it.
struct role_entry {
  std::string name;
  /// Its options, as on a command line: "--nproc-per-node=4". Those of the job come first.
  std::vector<std::string> options;
  /// The script and its arguments, after --no-python or -m if it has one of them.
  std::vector<std::string> command;
  /// False: it said processes_per_node instead of nproc_per_node.
  bool has_world = true;
  std::optional<elastic::role::policy> on_failure = {};
  std::vector<elastic::role::condition> starts_after = {};
  std::string stops_with = {};
  elastic::role::readiness readiness = elastic::role::readiness::progress;
  /// The name of the port for `readiness::port`.
  std::string ready_port = {};
};

/// What the file of a job says (`elasticrun --job`).
struct job_file {
  std::string name;
  /// How often all roles may start again.
  int restarts = 0;
  std::string log_dir = {};
  /// The file of the journal; empty: in the log directory.
  std::string journal = {};
  std::vector<role_entry> roles = {};
  /// Of the file as it is, without what --set says: the setting `fingerprint` of a rendezvous.
  std::string fingerprint = {};
};

/// Reads the text of a job file, which is TOML. Each key is checked, with its value.
///
/// @param source    the file's name, for messages and, without its folder and ending, for the job
/// @param settings  "ROLE.KEY=VALUE" or "KEY=VALUE": they take the place of what the file says
/// @param outer     options for every role that says nothing else
/// Errors: `errc::invalid_argument`, with the file, the line and what is allowed there.
job_file parse_job_file(std::string_view text, const std::string& source,
                        const std::vector<std::string>& settings,
                        const std::vector<elastic::command_line::option>& outer,
                        const elastic::command_line_facts& facts);

/// The text of a job file; "-" is standard input.
/// Errors: `errc::file_access` if it cannot be read; `errc::invalid_argument` if it is larger than
/// `limits::job_file_bytes`.
std::string read_job_file(const std::string& path);

/// What was understood, as a job file.
std::string text_of(const job_file& job);

}  // namespace elasticrun

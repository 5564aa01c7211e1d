// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <program/commands/status_command.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// The arguments of `elasticrun logs`.
struct logs_query {
  /// The job: its address or log directory, token and role.
  status_query job = {};
  elastic::detail::output_reading reading = {};
  /// Only lines that contain this text are shown; empty: all.
  std::string filter = {};
};

/// The outlets of `elasticrun logs`.
struct logs_outlets {
  /// Receives lines of workers, each with its end.
  std::function<void(std::string_view)> lines;
  /// Receives sentences about what is missing, each with a line end.
  std::function<void(std::string_view)> notices;
  /// Lines are shown on a terminal: control characters are escaped.
  bool is_terminal = false;
};

/// Parses the arguments of `elasticrun logs`: [--ranks 0-7,12] [--stdout | --stderr] [--lines N]
/// [--follow] [--grep TEXT] [--role NAME] [--token-file FILE] [ADDRESS | LOGDIR]. The last argument
/// defaults to PET_STATUS, the variable of --status.
/// Result: the query, or an error for the user.
std::variant<logs_query, elastic::early_exit> parse_logs_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Shows the output of the workers of a job: from its status server, or the files in its log
/// directory. With --follow, it ends when the journals there say that the run is over. Result: the
/// exit code, 0.
/// Errors: those of `run_status_command`; `errc::connection_failed` also if the agent is gone
/// before the last line.
/// Cancellation: all types.
elastic::task<int> run_logs_command(logs_query query, logs_outlets out);

}  // namespace elasticrun

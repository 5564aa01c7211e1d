// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/endpoint.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// The arguments of `elasticrun status`.
struct status_query {
  /// The address of the job's status server, if it uses TCP.
  elastic::endpoint tcp = {};
  /// The Unix socket of the server; empty: none.
  std::string socket = {};
  /// A log directory or a journal; empty: none.
  std::string log_directory = {};
  /// The token that the server requires; empty: none.
  std::string token = {};
  /// In a job of several roles: the role to show; empty: the whole job.
  std::string role = {};
  bool as_json = false;
  /// Show only whether the workers run, by the exit code and, if not, a line with the reason. Not
  /// for a log directory.
  bool asks_ready = false;
  /// Repeat every second until the job has ended.
  bool repeats = false;
};

/// Parses the address or the log directory of a job, for a command.
/// Errors: `errc::invalid_argument`, one sentence that begins with the command.
void parse_job_address(std::string_view command, const std::string& address, status_query& query);

/// Connects to the status server of a job. Errors: `errc::connection_failed`.
elastic::task<std::unique_ptr<elastic::detail::byte_stream>> connect_to_job(status_query query);

/// Parses the arguments of `elasticrun status`: [--watch | --ready] [--json] [--role NAME]
/// [--token-file FILE] [PORT | HOST:PORT | http://HOST:PORT/?token=… | unix:PATH | LOGDIR]. The
/// last argument defaults to PET_STATUS, the variable of --status. --ready takes no log directory,
/// which does not show whether its agent is alive.
/// Result: the query, or an error for the user.
std::variant<status_query, elastic::early_exit> parse_status_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Shows the status of a job.
/// @param out  receives the text, with its line ends
/// Result: the exit code: 0, or 1 if `asks_ready` is set and the workers do not run.
/// Errors: `errc::connection_failed` if nothing listens, `errc::timed_out` if the server does not
/// answer, `errc::invalid_argument` if it refuses, `errc::protocol_violation` if it is not a status
/// server, `errc::file_access` for a log directory that cannot be read. With `repeats`, an agent
/// that does not answer later is asked again, and an agent that is gone counts as ended.
/// Cancellation: all types.
elastic::task<int> run_status_command(status_query query,
                                      std::function<void(std::string_view)> out);

}  // namespace elasticrun

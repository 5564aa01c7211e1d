// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/net/endpoint.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// What `elasticrun status` is to show.
struct status_query {
  /// Where the job's status is served, if it is by TCP.
  elastic::endpoint tcp = {};
  /// The Unix socket at which it is; empty: none.
  std::string socket = {};
  /// A log directory or a journal; empty: none.
  std::string log_directory = {};
  /// What the server wants to be shown; empty: nothing.
  std::string token = {};
  bool as_json = false;
  /// Only the exit code says whether the workers run, and a line why not; of a job that is served.
  bool asks_ready = false;
  /// Again each second, until the job has ended.
  bool repeats = false;
};

/// Reads what follows `elasticrun status`: [--watch | --ready] [--json] [--token-file FILE]
/// [PORT | HOST:PORT | http://HOST:PORT/?token=… | unix:PATH | LOGDIR]. Without a place it is
/// PET_STATUS, as for the job. No log directory goes with --ready: it does not show whether its
/// agent lives.
/// Result: what to show, or why not.
std::variant<status_query, elastic::early_exit> parse_status_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Shows it. @param out  takes the text, line ends included
/// Result: what the program exits with: 0; 1 if it was asked for ready and the workers do not run.
/// Errors: `errc::connection_failed` if nobody answers, `errc::invalid_argument` if the server
/// refuses, `errc::protocol_violation` if it is none, `errc::file_access` of a log directory.
elastic::task<int> run_status_command(status_query query,
                                      std::function<void(std::string_view)> out);

}  // namespace elasticrun

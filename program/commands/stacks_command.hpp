// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/contract/environment.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// The arguments of `elasticrun stacks`.
struct stacks_query {
  /// The Unix socket of the job's status server; empty: none.
  std::string socket = {};
  /// A log directory or a journal; empty: none.
  std::string log_directory = {};
  /// In a job of several roles: the role whose workers to show; empty: all roles.
  std::string role = {};
  /// The ranks to show; empty: all.
  std::vector<int> ranks = {};
};

/// Parses [--role NAME] [--rank R,...] [unix:PATH | LOGDIR]; --rank may be repeated. The last
/// argument defaults to PET_STATUS, the variable of --status.
/// Result: the query, or an error for the user.
std::variant<stacks_query, elastic::early_exit> parse_stacks_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Shows the stacks of a job's workers. With a socket: those of that agent's workers and, if its
/// job is diagnosed, of all nodes. With a log directory: the kernel's view of the workers on this
/// host.
/// @param out  receives the text
/// Result: the exit code: 0, or 1 if no worker runs.
/// Errors: `errc::connection_failed` if nothing listens on the socket, `errc::timed_out` if the
/// agent does not answer, `errc::invalid_argument` if it refuses, or if the job has ended,
/// `errc::file_access` for a log directory that cannot be read. Cancellation: all types.
elastic::task<int> run_stacks_command(stacks_query query,
                                      std::function<void(std::string_view)> out);

}  // namespace elasticrun

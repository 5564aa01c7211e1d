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
  /// The ranks that are shown; none: all.
  std::vector<int> ranks = {};
};

/// Parses [--rank R,...] [unix:PATH | LOGDIR]; --rank may be repeated. The default of the place is
/// PET_STATUS, as for the job.
/// Result: the query, or an error for the user.
std::variant<stacks_query, elastic::early_exit> parse_stacks_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Shows where the workers of a job are: those of the agent at a socket and, if its job is
/// diagnosed, of all nodes; or, of a log directory, what the kernel knows about those on this host.
/// @param out  receives the text
/// Result: the exit code: 0, or 1 if no worker runs.
/// Errors: `errc::connection_failed` if nothing listens on the socket, `errc::timed_out` if the
/// agent does not answer, `errc::invalid_argument` if it refuses, or if the job has ended,
/// `errc::file_access` for a log directory that cannot be read. Cancellation: all types.
elastic::task<int> run_stacks_command(stacks_query query,
                                      std::function<void(std::string_view)> out);

}  // namespace elasticrun

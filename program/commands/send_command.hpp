// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/agent/job_command.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// A command and its target job.
struct command_call {
  /// The Unix socket of the job's status server.
  std::string socket;
  elastic::job_command command;
};

/// Parses the arguments of `elasticrun drain` and similar commands: [--role NAME] unix:PATH
/// [REASON ...], and --within SECONDS before them for `checkpoint`.
/// Result: the command, or an error for the user.
std::variant<command_call, elastic::early_exit> parse_command_call(
    elastic::job_command::kind kind, const std::vector<std::string>& arguments);

/// Sends a command to a job and waits for its outcome.
/// @param out  receives the answer, with its line end
/// Result: the exit code: 0, or 1 if the job did not carry the command out.
/// Errors: `errc::connection_failed` if nothing listens on the socket, `errc::timed_out` if the
/// agent is silent for `limits::status_request`, `errc::invalid_argument` if it refuses the
/// command, `errc::protocol_violation` if it is not a status server. Cancellation: all types; the
/// job may still carry the command out.
elastic::task<int> send_command(command_call call, std::function<void(std::string_view)> out);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/observe/job_command.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elasticrun {

/// A command, and the job that it is for.
struct command_call {
  /// The Unix socket at which the job's status is served.
  std::string socket;
  elastic::job_command command;
};

/// Reads what follows `elasticrun drain` and the like: unix:PATH [REASON ...], and of `checkpoint`
/// --within SECONDS before them.
/// Result: the command, or why not.
std::variant<command_call, elastic::early_exit> parse_command_call(
    elastic::job_command::kind kind, const std::vector<std::string>& arguments);

/// Has the job carry it out, and waits for what comes of it.
/// @param out  takes the answer, line end included
/// Result: what the program exits with: 0; 1 if it was not carried out.
/// Errors: `errc::connection_failed` if nobody listens there, `errc::timed_out` if the agent says
/// nothing for `limits::status_request`, `errc::invalid_argument` if the server refuses,
/// `errc::protocol_violation` if it is no status server.
elastic::task<int> send_command(command_call call, std::function<void(std::string_view)> out);

}  // namespace elasticrun

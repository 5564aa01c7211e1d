// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// Runs a command of elasticrun, such as `elasticrun status`.
/// @param arguments  the arguments after the command's name
/// Result: the exit code.
int run_command(const elastic::command_line::facts::command& command,
                const std::vector<std::string>& arguments);

}  // namespace elasticrun

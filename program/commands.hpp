// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/command_word.hpp>

#include <string>
#include <vector>

/// What elasticrun does for a command in place of running a job. Result: the exit code.
/// @param arguments  those after the command's word
int run_command(const elastic::detail::command_row& command,
                const std::vector<std::string>& arguments);

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>

#include <functional>
#include <string>
#include <vector>

namespace elasticrun {

/// All commands, in the order of --help.
const std::vector<elastic::command_line::facts::command>& command_rows();

/// The command that the first argument of `elasticrun` names; null if the arguments run a job. A
/// script of that name has precedence, so that every command line of torchrun keeps its meaning.
/// `./status` is always a script.
/// @param is_script  whether there is a script with this name, see `is_script`
const elastic::command_line::facts::command* find_command(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& name)>& is_script);

/// Whether Python could run the path: a file, or a directory with a __main__.py.
bool is_script(const std::string& name);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elasticrun {

/// Whether a worker failed because its Python has no torch.
bool is_torch_missing(const elastic::run_result& result);

/// The first python3 in a list such as PATH that has torch among its packages; empty if none has.
/// No Python is run. `files_of`: the paths in a directory; none if it cannot be read.
std::string find_python_with_torch(
    std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of);

/// The same by the file system.
std::string find_python_with_torch(std::string_view list);

/// The path of a program in a list such as PATH; as it is, if it names a path or is nowhere there.
std::string path_of_program(const std::string& program, std::string_view list);

/// The line that a user needs then. `python`: what ran the workers. `with_torch`: one that has it;
/// empty if none is known.
std::string missing_torch_hint(std::string_view python, std::string_view with_torch);

}  // namespace elasticrun

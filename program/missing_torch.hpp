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

/// Finds the first python3 in a list such as PATH that has torch among its packages. Runs no
/// Python.
/// @param files_of  the paths in a directory; empty if it cannot be read
/// Result: the path of the python3; empty if there is none.
std::string find_python_with_torch(
    std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of);

/// The same, with the files of this system.
std::string find_python_with_torch(std::string_view list);

/// Finds a program in a list such as PATH.
/// Result: its path; `program` itself if that is a path, or if the list does not have it.
std::string path_of_program(const std::string& program, std::string_view list);

/// The hint for a user whose workers have no torch.
/// @param python      the Python that ran the workers
/// @param with_torch  a Python that has torch; empty if none is known
std::string missing_torch_hint(std::string_view python, std::string_view with_torch);

}  // namespace elasticrun

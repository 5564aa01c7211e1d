// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_spec.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elasticrun {

/// The module that Python did not find, according to the last lines of its stderr; empty: it failed
/// for another reason.
std::string missing_module(const std::vector<std::string>& lines);

/// The same for the first worker that failed for this reason.
std::string missing_module(const elastic::run_result& result);

/// Finds the first python3 in a list such as PATH that has a module, or its package, among its
/// installed ones. Runs no Python.
/// @param files_of  the paths in a directory; empty if it cannot be read
/// Result: the path of the python3; empty if there is none.
std::string find_python_with(
    std::string_view module, std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of);

/// The same, with the files of this system.
std::string find_python_with(std::string_view module, std::string_view list);

/// The hint for a user whose workers do not find a module.
/// @param python        the Python that ran the workers
/// @param other_python  a Python that has the module; empty if none is known
std::string missing_module_hint(std::string_view module, std::string_view python,
                                std::string_view other_python);

/// The same for an ended job; empty if its workers did not run with Python, or did not fail for
/// this reason.
std::string missing_module_hint(const elastic::worker_spec& workers,
                                const elastic::run_result& result);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// Whether a worker failed because its Python has no torch.
ELASTIC_DECL bool is_torch_missing(const run_result& result);

/// The first python3 in a list such as PATH that has torch among its packages; empty if none has.
/// No Python is run. `files_of`: the paths in a directory; none if it cannot be read.
ELASTIC_DECL std::string find_python_with_torch(
    std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of);

/// The same by the file system.
ELASTIC_DECL std::string find_python_with_torch(std::string_view list);

/// The path of a program in a list such as PATH; as it is, if it names a path or is nowhere there.
ELASTIC_DECL std::string path_of_program(const std::string& program, std::string_view list);

/// The line that a user needs then. `python`: what ran the workers. `with_torch`: one that has it;
/// empty if none is known.
ELASTIC_DECL std::string missing_torch_hint(std::string_view python, std::string_view with_torch);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/missing_torch.ipp>
#endif

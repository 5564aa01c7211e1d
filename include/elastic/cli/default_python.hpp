// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace elastic {

/// The default Python for scripts: that of the environment (venv, conda) in whose bin folder the
/// program was started, activated or not; or else "python3", to be looked up in PATH. `started_as`:
/// the path by which the program was executed, not that of the file: a link to a program in a
/// separate environment (pipx, uv tool) does not belong to it. `is_there`: whether a path exists.
ELASTIC_DECL std::string default_python(
    const std::filesystem::path& started_as,
    const std::function<bool(const std::filesystem::path&)>& is_there);

/// The same for this process.
ELASTIC_DECL std::string default_python();

/// Finds a program in a list such as PATH.
/// Result: its path; `program` itself if that is a path, or if the list does not have it.
ELASTIC_DECL std::string path_of_program(const std::string& program, std::string_view list);

/// The warning for a user whose active environment is not the one of the Python for scripts, so
/// that a script may lack its packages. The active environment is that of VIRTUAL_ENV or
/// CONDA_PREFIX whose programs come first in PATH; if PATH has neither, both are. A Python belongs
/// to the environment in which it is, and to that of the Python to which it is a link: a venv made
/// by conda's Python belongs to conda, too. An environment without a Python counts as none, and no
/// warning is given about a script in place of a Python, such as that of pyenv.
/// Result: one sentence, with PYTHON_EXEC; empty if the Python belongs to an active environment, or
/// if none is active. Errors: none.
ELASTIC_DECL std::string python_warning(const environment_map& environment,
                                        const std::string& python);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/default_python.ipp>
#endif

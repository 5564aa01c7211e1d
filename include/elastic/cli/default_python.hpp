// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <filesystem>
#include <functional>
#include <string>

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

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/default_python.ipp>
#endif

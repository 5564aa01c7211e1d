// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The parsed arguments of a Python interpreter.
struct python_command {
  /// The interpreter's own options, such as "-u".
  std::vector<std::string> flags;
  enum class kind { script, module, code };
  kind what = kind::script;
  /// The script's path or the module's name; empty for code.
  std::string name;
};

/// Result: empty if the interpreter would run none of these, or an argument is unknown.
ELASTIC_DECL std::optional<python_command> parse_python_command(
    const std::vector<std::string>& arguments);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/python_command.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Writes the manual page and the completion scripts of the shells from the table of options.

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The shells that `completion_script` knows.
ELASTIC_DECL const std::vector<std::string>& completion_shells();

/// The script by which a shell completes options and commands of elasticrun. `shell`: one of
/// completion_shells.
ELASTIC_DECL std::string completion_script(
    std::string_view shell, const std::vector<command_line::facts::command>& commands);

/// The manual page of elasticrun, in the language of man.
ELASTIC_DECL std::string man_page(const std::vector<command_line::facts::command>& commands);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_documents.ipp>
#endif

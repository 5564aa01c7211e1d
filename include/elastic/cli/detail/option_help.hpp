// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// The text that --help shows.
ELASTIC_DECL std::string help_text(const command_line::facts& facts);

/// Parts of it that are not in the table of options: how it is used, the variables that it reads,
/// and what it exits with. Lines as they are to be shown.
ELASTIC_DECL std::string_view help_introduction();
ELASTIC_DECL std::string_view help_environment();
ELASTIC_DECL std::string_view help_exit_codes();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_help.ipp>
#endif

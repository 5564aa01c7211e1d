// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/early_exit.hpp>

#include <optional>
#include <string>

namespace elastic {

/// The I/O that results from a choice on this machine: "I/O: io_uring", or the I/O used instead and
/// the reason. Creates a ring to check, and closes it.
ELASTIC_DECL std::string describe_io(command_line::io_choice choice);

/// The text of --version: "elasticrun 0.1.0 (I/O: io_uring)".
ELASTIC_DECL early_exit show_version(command_line::io_choice choice);

/// Result: empty if the choice is available, else the error.
ELASTIC_DECL std::optional<early_exit> check_io(command_line::io_choice choice);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/io_choice.ipp>
#endif

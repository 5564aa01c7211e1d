// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// The program ends before it has started anything: it was asked for help, or told something that
/// cannot be done.
struct early_exit {
  /// What the program exits with.
  int code = 0;
  /// What it says, line ends included.
  std::string text;
  /// Whether that goes to stderr; otherwise to stdout.
  bool to_stderr = false;
};

/// The exit code for a command line, or a value in it, that cannot be used.
inline constexpr int exit_usage = 2;
/// Text from outside as part of a one-line message: in quotes, control characters spelled out,
/// cut if it is long.
ELASTIC_DECL std::string in_quotes(std::string_view text);

/// Ends the program with "elasticrun: error: <sentence>" on stderr.
ELASTIC_DECL early_exit refuse(std::string_view sentence);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/early_exit.ipp>
#endif

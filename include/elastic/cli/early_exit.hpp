// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// Why a program ends before it has started anything: the user asked for help, or for something
/// that is not possible.
struct early_exit {
  /// The exit code of the program.
  int code = 0;
  /// The output, with its line ends.
  std::string text;
  /// Whether it prints that to stderr; otherwise to stdout.
  bool to_stderr = false;
};

/// The exit code for a command line, or a value in it, that cannot be used.
inline constexpr int exit_usage = 2;

/// The exit code if stdout cannot be written, whatever else was done. A closed pipe does not count.
inline constexpr int exit_unwritten = 1;

/// Ends the program with "<program>: error: <sentence>" on stderr. Control characters in the
/// sentence are escaped, and lines after its first are indented.
ELASTIC_DECL early_exit refuse(std::string_view sentence, std::string_view program = "elasticrun");

/// Prints the text of an early exit. If stdout cannot be written, it says so on stderr, unless its
/// reader has closed the pipe.
/// Result: the code for `main` to return: that of the exit, or `exit_unwritten` if it said so.
ELASTIC_DECL int leave(const early_exit& exit, std::string_view program = "elasticrun");

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/early_exit.ipp>
#endif

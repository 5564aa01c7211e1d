// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <string>
#include <string_view>

#include <fmt/format.h>

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
/// cut where it is long.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string shown = "'";
  for (const char letter : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += letter;
    }
  }
  return shown + (text.size() > most ? "…'" : "'");
}

/// Ends the program with "elasticrun: error: <sentence>" on stderr.
inline early_exit refuse(std::string_view sentence) {
  return {exit_usage, fmt::format("elasticrun: error: {}\n", sentence), true};
}

}  // namespace elastic

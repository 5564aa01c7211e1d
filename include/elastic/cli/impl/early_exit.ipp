// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/early_exit.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL early_exit refuse(std::string_view sentence, std::string_view program) {
  const std::string shown = printable_text(sentence, "    ");
  return {exit_usage, fmt::format("{}: error: {}\n", program, shown), true};
}

ELASTIC_DECL int leave(const early_exit& exit, std::string_view program) {
  std::FILE* const stream = exit.to_stderr ? stderr : stdout;
  if (std::fputs(exit.text.c_str(), stream) >= 0 && std::fflush(stream) == 0) return exit.code;
  const int failure = errno;
  // A reader such as head has closed the pipe: it has seen enough.
  if (exit.to_stderr || failure == EPIPE) return exit.code;
  const std::string problem = errno_text(failure);
  std::fputs(fmt::format("{}: error: stdout cannot be written: {}\n", program, problem).c_str(),
             stderr);
  return exit_unwritten;
}

}  // namespace elastic

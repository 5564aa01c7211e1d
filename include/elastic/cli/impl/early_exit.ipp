// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/early_exit.hpp>

#include <cstdio>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL early_exit refuse(std::string_view sentence, std::string_view program) {
  return {exit_usage, fmt::format("{}: error: {}\n", program, sentence), true};
}

ELASTIC_DECL int leave(const early_exit& exit) {
  std::fputs(exit.text.c_str(), exit.to_stderr ? stderr : stdout);
  return exit.code;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/signal_number.hpp>

#include <csignal>
#include <cstring>

namespace elastic::detail {

ELASTIC_DECL std::optional<int> signal_number(std::string_view name) {
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const abbreviation = sigabbrev_np(number);
    if (abbreviation && name == abbreviation) return number;
  }
  return std::nullopt;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

/// The number of a signal that is named as by kill(1) and in <csignal>: "SIGTERM" or "TERM". Empty
/// for a name that none has; real-time signals have none here.
inline std::optional<int> signal_number(std::string_view name) {
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known && name == known) return number;
  }
  return std::nullopt;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <string>

#include <fmt/format.h>

namespace elastic::detail {

/// A span of time for people: "12.0 s".
inline std::string seconds_text(duration span) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(span).count());
}

}  // namespace elastic::detail

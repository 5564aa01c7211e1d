// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Joins texts or integers with a separator. (`fmt::join` would compile all of fmt's formatting
/// into each program.)
template <class Part>
std::string joined_text(std::span<const Part> parts, std::string_view separator) {
  std::string text;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    if (index > 0) text += separator;
    if constexpr (std::integral<Part>) {
      text += std::to_string(parts[index]);
    } else {
      text += parts[index];
    }
  }
  return text;
}

}  // namespace elastic::detail

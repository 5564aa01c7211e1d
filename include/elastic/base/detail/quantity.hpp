// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace elastic::detail {

/// "1 worker", "2 workers". The noun takes its plural by an "s".
template <std::integral Count>
std::string quantity(Count count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/early_exit.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string in_quotes(std::string_view text) {
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

ELASTIC_DECL early_exit refuse(std::string_view sentence) {
  return {exit_usage, fmt::format("elasticrun: error: {}\n", sentence), true};
}

}  // namespace elastic

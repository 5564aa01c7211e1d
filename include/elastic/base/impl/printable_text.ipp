// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/printable_text.hpp>

#include <cstddef>
#include <cstdint>

#include <algorithm>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// A UTF-8 character at the front of a text; size 0 if there is none.
struct printed_character {
  std::uint32_t code = 0;
  std::size_t size = 0;
};

inline printed_character first_printed(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[size] || code > 0x10ffff || is_surrogate) return {};
  return {code, size};
}

inline bool acts_on_terminal(std::uint32_t code) {
  const bool is_control = (code < 0x20 && code != '\t') || (code >= 0x7f && code <= 0x9f);
  const bool is_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                            (code >= 0x202a && code <= 0x202e) ||
                            (code >= 0x2066 && code <= 0x2069);
  const bool ends_line = code == 0x2028 || code == 0x2029;
  return is_control || is_direction || ends_line;
}

}  // namespace detail

ELASTIC_DECL std::string printable_text(std::string_view text, std::string_view line_begin) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const detail::printed_character next = detail::first_printed(text);
    const std::size_t size = next.size == 0 ? 1 : next.size;
    if (next.code == '\n') {
      shown += '\n';
      shown += line_begin;
    } else if (next.size != 0 && !detail::acts_on_terminal(next.code)) {
      shown += text.substr(0, size);
    } else {
      for (const char byte : text.substr(0, size)) {
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(size);
  }
  return shown;
}

ELASTIC_DECL std::string printable_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\r', ' ');
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  line.erase(line.find_last_not_of(" \t") + 1);
  return printable_text(std::string_view(line).substr(begin));
}

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

}  // namespace elastic

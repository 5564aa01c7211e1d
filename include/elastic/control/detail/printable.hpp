// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// `text` made safe to show: without characters that a terminal interprets, at most `most` bytes of
/// whole characters.
inline std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const auto byte = static_cast<unsigned char>(text[index]);
    const auto next = index + 1 < text.size() ? static_cast<unsigned char>(text[index + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      shown += ' ';
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      ++index;  // U+0080 to U+009F: control characters, too
      shown += ' ';
    } else {
      shown += text[index];
    }
  }
  if (shown.size() <= most) return shown;
  while (most > 0 && (static_cast<unsigned char>(shown[most]) & 0xc0) == 0x80) --most;
  shown.resize(most);
  return shown;
}

}  // namespace elastic::detail

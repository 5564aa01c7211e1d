// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The beginning of a text, interpreted as UTF-8.
struct utf8_character {
  /// The number of bytes that belong together: a character, or an invalid start of one.
  std::size_t size;
  bool valid;
  /// Invalid only because the text ends too early.
  bool cut_off;
};

/// `text` must not be empty.
inline utf8_character first_utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true, false};
  // Excludes surrogates and overlong encodings.
  const std::size_t whole = lead >= 0xc2 && lead <= 0xdf   ? 2
                            : lead >= 0xe0 && lead <= 0xef ? 3
                            : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                           : 0;
  if (whole == 0) return {1, false, false};
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t index = 1; index < whole; ++index) {
    if (index == text.size()) return {index, false, true};
    const bool fits =
        index == 1 ? byte(index) >= low && byte(index) <= high : (byte(index) & 0xc0) == 0x80;
    if (!fits) return {index, false, false};
  }
  return {whole, true, false};
}

/// How many bytes at the end of `text` are the start of an incomplete character; 0 to 3.
inline std::size_t unfinished_character(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(3, text.size()); ++size) {
    const std::string_view end = text.substr(text.size() - size);
    if ((static_cast<unsigned char>(end[0]) & 0xc0) == 0x80) continue;
    const utf8_character first = first_utf8_character(end);
    return first.cut_off && first.size == size ? size : 0;
  }
  return 0;
}

/// The first `most` bytes of a text, without an incomplete character at the end.
inline std::string_view beginning_of(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  return text.substr(0, text.size() - unfinished_character(text));
}

/// Appends the last `digits` hexadecimal digits of a number.
inline void append_hexadecimal(std::string& out, std::uint64_t number, std::size_t digits) {
  constexpr std::size_t bits_per_digit = 4;
  for (std::size_t digit = digits; digit > 0; --digit) {
    out += "0123456789abcdef"[(number >> ((digit - 1) * bits_per_digit)) & 0xf];
  }
}

/// Appends `text` as the content of a JSON string. Each byte sequence that is not UTF-8 becomes
/// U+FFFD.
inline void append_json_text(std::string& out, std::string_view text) {
  const auto is_plain = [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= 0x20 && byte < 0x80 && letter != '"' && letter != '\\';
  };
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const utf8_character next = first_utf8_character(text);
    const char letter = text[0];
    if (!next.valid) {
      out += "\xef\xbf\xbd";
    } else if (next.size > 1) {
      out.append(text.substr(0, next.size));
    } else if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (letter == '\n') {
      out += "\\n";
    } else if (letter == '\t') {
      out += "\\t";
    } else if (letter == '\r') {
      out += "\\r";
    } else {
      out += "\\u";
      append_hexadecimal(out, static_cast<unsigned char>(letter), 4);
    }
    text.remove_prefix(next.size);
  }
}

/// The same as a JSON string, with its quotes.
inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  append_json_text(quoted, text);
  return quoted + '"';
}

}  // namespace elastic::detail

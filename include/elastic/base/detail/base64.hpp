// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Base64 with the standard alphabet and padding, without line breaks (RFC 4648, section 4).
namespace elastic::detail {

inline constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The length of the text for `bytes` bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

inline std::string to_base64(std::string_view bytes);

/// Result: empty if `text` is not a possible result of `to_base64`. Each value therefore has
/// exactly one text, and comparing texts compares values.
inline std::optional<std::string> from_base64(std::string_view text);

inline std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve(base64_size(bytes.size()));
  for (std::size_t index = 0; index < bytes.size(); index += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool there = index + i < bytes.size();
      group = group << 8 | (there ? static_cast<unsigned char>(bytes[index + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool is_padding = index + i > bytes.size();
      text.push_back(is_padding ? '=' : base64_letters[group >> (18 - 6 * i) & 63]);
    }
  }
  return text;
}

inline std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto values = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(64);
    for (std::uint8_t i = 0; i < 64; ++i) {
      table[static_cast<unsigned char>(base64_letters[i])] = i;
    }
    return table;
  }();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const std::size_t letters = text.size() - padding;

  std::string bytes(text.size() / 4 * 3, '\0');
  char* end = bytes.data();
  std::uint32_t group = 0;
  std::uint8_t all = 0;
  for (std::size_t index = 0; index < text.size(); index += 4) {
    for (std::size_t i = index; i < index + 4; ++i) {
      const std::uint8_t value = i < letters ? values[static_cast<unsigned char>(text[i])] : 0;
      all |= value;
      group = group << 6 | value;
    }
    for (const int shift : {16, 8, 0}) *end++ = static_cast<char>(group >> shift & 0xff);
  }
  const bool has_rest = (group & ((1U << 8 * padding) - 1)) != 0;
  if (all > 63 || has_rest) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace elastic::detail

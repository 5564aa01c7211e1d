// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace elastic::detail {

inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~sum;
}

/// Appends a number in little-endian order.
inline void append_number(std::string& bytes, std::size_t number, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xff);
}

/// A zip archive with one uncompressed file. Python can import modules from it, as from a folder.
inline std::string stored_archive(std::string_view name, std::string_view content) {
  // Version, flags, method, time, date (the earliest possible), checksum, sizes, length of the
  // name.
  std::string about;
  append_number(about, 20, 2);
  append_number(about, 0, 2);
  append_number(about, 0, 2);
  append_number(about, 0, 2);
  append_number(about, (1 << 5) | 1, 2);
  append_number(about, crc32_of(content), 4);
  append_number(about, content.size(), 4);
  append_number(about, content.size(), 4);
  append_number(about, name.size(), 2);
  append_number(about, 0, 2);

  std::string bytes = "PK\3\4" + about;
  bytes += name;
  bytes += content;
  const std::size_t directory_at = bytes.size();
  bytes += "PK\1\2";
  append_number(bytes, 20, 2);
  bytes += about;
  // No comment, first disk, no attributes, offset 0.
  append_number(bytes, 0, 8);
  append_number(bytes, 0, 6);
  bytes += name;
  const std::size_t directory_size = bytes.size() - directory_at;
  bytes += "PK\5\6";
  append_number(bytes, 0, 4);
  append_number(bytes, 1, 2);
  append_number(bytes, 1, 2);
  append_number(bytes, directory_size, 4);
  append_number(bytes, directory_at, 4);
  append_number(bytes, 0, 2);
  return bytes;
}

}  // namespace elastic::detail

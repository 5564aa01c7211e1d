// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_header.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

namespace elastic::detail {

inline constexpr std::string_view vault_magic = "ELVAULT\n";
inline constexpr std::uint64_t vault_version = 1;
inline constexpr std::uint64_t vault_valid = 0x76616c6964;
inline constexpr std::size_t vault_check_place = limits::vault_header_bytes - 4;
inline constexpr std::size_t vault_used_bytes = 76;

template <class Number>
Number number_at(std::string_view bytes, std::size_t place) {
  Number number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&number, bytes.data() + place, sizeof number);
    return number;
  }
  for (std::size_t index = sizeof number; index > 0; --index) {
    const auto byte = static_cast<unsigned char>(bytes[place + index - 1]);
    number = static_cast<Number>(number << 8) | byte;
  }
  return number;
}

/// The tables for eight bytes at a time: table n is for the byte at distance n from the last one.
inline constexpr auto crc32_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t value = 0; value < 256; ++value) {
    std::uint32_t rest = value;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320U : 0U);
    tables[0][value] = rest;
  }
  for (std::size_t distance = 1; distance < tables.size(); ++distance) {
    for (std::size_t value = 0; value < 256; ++value) {
      const std::uint32_t before = tables[distance - 1][value];
      tables[distance][value] = tables[0][before & 0xffU] ^ (before >> 8);
    }
  }
  return tables;
}();

ELASTIC_DECL std::uint32_t crc32(std::string_view bytes, std::uint32_t check) {
  const auto& tables = crc32_tables;
  std::uint32_t rest = ~check;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    const std::uint32_t low = rest ^ number_at<std::uint32_t>(bytes, 0);
    const auto high = number_at<std::uint32_t>(bytes, 4);
    rest = tables[7][low & 0xffU] ^ tables[6][low >> 8 & 0xffU] ^ tables[5][low >> 16 & 0xffU] ^
           tables[4][low >> 24] ^ tables[3][high & 0xffU] ^ tables[2][high >> 8 & 0xffU] ^
           tables[1][high >> 16 & 0xffU] ^ tables[0][high >> 24];
  }
  for (const char byte : bytes) {
    rest = tables[0][(rest ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (rest >> 8);
  }
  return ~rest;
}

template <class Number>
void put_number(std::string& bytes, std::size_t place, Number number) {
  for (std::size_t index = 0; index < sizeof number; ++index) {
    bytes[place + index] = static_cast<char>(number >> (8 * index) & 0xff);
  }
}

/// Whether the file is large enough for all parts.
inline bool fits(const vault_header& header, std::uint64_t file_bytes) {
  if (file_bytes < limits::vault_header_bytes) return false;
  const std::uint64_t room = file_bytes - limits::vault_header_bytes;
  return header.manifest_bytes > 0 && header.manifest_bytes <= limits::vault_manifest_bytes &&
         header.manifest_bytes <= room && header.data_bytes <= room - header.manifest_bytes;
}

/// Whether the numbers are possible for a commit.
inline bool is_possible(const vault_header& header) {
  return header.id.epoch > 0 && header.id.number > 0 && header.step >= 0 && header.rank >= 0 &&
         header.rank < header.world_size;
}

ELASTIC_DECL std::optional<vault_header> parse_vault_header(std::string_view bytes,
                                                            std::uint64_t file_bytes) {
  if (bytes.size() != limits::vault_header_bytes || !bytes.starts_with(vault_magic)) return {};
  if (number_at<std::uint64_t>(bytes, 8) != vault_version) return {};
  if (number_at<std::uint64_t>(bytes, 16) != vault_valid) return {};
  const auto check = number_at<std::uint32_t>(bytes, vault_check_place);
  if (crc32(bytes.substr(0, vault_check_place)) != check) return {};
  const std::string_view rest =
      bytes.substr(vault_used_bytes, vault_check_place - vault_used_bytes);
  if (rest.find_first_not_of('\0') != rest.npos) return {};
  vault_header header;
  header.id.epoch = static_cast<std::int64_t>(number_at<std::uint64_t>(bytes, 24));
  header.id.number = static_cast<std::int64_t>(number_at<std::uint64_t>(bytes, 32));
  header.step = static_cast<std::int64_t>(number_at<std::uint64_t>(bytes, 40));
  header.rank = static_cast<int>(number_at<std::uint32_t>(bytes, 48));
  header.world_size = static_cast<int>(number_at<std::uint32_t>(bytes, 52));
  header.data_bytes = number_at<std::uint64_t>(bytes, 56);
  header.manifest_bytes = number_at<std::uint64_t>(bytes, 64);
  header.manifest_check = number_at<std::uint32_t>(bytes, 72);
  if (!is_possible(header) || !fits(header, file_bytes)) return {};
  return header;
}

ELASTIC_DECL std::string bytes_of(const vault_header& header) {
  std::string bytes(limits::vault_header_bytes, '\0');
  std::copy(vault_magic.begin(), vault_magic.end(), bytes.begin());
  put_number(bytes, 8, vault_version);
  put_number(bytes, 16, vault_valid);
  put_number(bytes, 24, static_cast<std::uint64_t>(header.id.epoch));
  put_number(bytes, 32, static_cast<std::uint64_t>(header.id.number));
  put_number(bytes, 40, static_cast<std::uint64_t>(header.step));
  put_number(bytes, 48, static_cast<std::uint32_t>(header.rank));
  put_number(bytes, 52, static_cast<std::uint32_t>(header.world_size));
  put_number(bytes, 56, header.data_bytes);
  put_number(bytes, 64, header.manifest_bytes);
  put_number(bytes, 72, header.manifest_check);
  put_number(bytes, vault_check_place, crc32(std::string_view(bytes).substr(0, vault_check_place)));
  return bytes;
}

}  // namespace elastic::detail

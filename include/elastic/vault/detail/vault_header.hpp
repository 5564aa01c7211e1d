// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/vault/detail/vault_generation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The header of a slot that holds a whole commit. In the file it is followed by the data and the
/// manifest, which has a checksum of each buffer. All numbers are little-endian:
///
///     0  magic, 8 bytes   24  epoch        48  rank, 4 bytes         64  bytes of the manifest
///     8  version          32  generation   52  world size, 4 bytes   72  CRC-32 of the manifest
///     16 state            40  step         56  bytes of the data     4092  CRC-32 of the header
///
/// The rest is zero, and kept for later versions.
struct vault_header {
  vault_generation id;
  std::int64_t step = 0;
  int rank = 0;
  int world_size = 1;
  std::uint64_t data_bytes = 0;
  std::uint64_t manifest_bytes = 0;
  std::uint32_t manifest_check = 0;

  friend bool operator==(const vault_header&, const vault_header&) = default;
};

/// Parses a header. The bytes may be arbitrary.
/// @param file_bytes  the size of the slot
/// Result: empty if it is not the header of a whole commit.
ELASTIC_DECL std::optional<vault_header> parse_vault_header(std::string_view bytes,
                                                            std::uint64_t file_bytes);

/// The `limits::vault_header_bytes` of a header.
ELASTIC_DECL std::string bytes_of(const vault_header& header);

/// CRC-32 as in zlib.
/// @param check  the checksum of the preceding bytes
ELASTIC_DECL std::uint32_t crc32(std::string_view bytes, std::uint32_t check = 0);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_header.ipp>
#endif

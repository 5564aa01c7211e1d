// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The name and the content of a key's file.
namespace elastic::detail {

/// FNV-1a, 64 bits: detects damage, not tampering.
ELASTIC_DECL std::uint64_t checksum(std::string_view bytes,
                                    std::uint64_t start = 14695981039346656037U);

/// A file name for the key, readable if possible. It does not begin with a dot, and is no longer
/// than a file name may be: a longer one is truncated and made unique by its checksums.
ELASTIC_DECL std::string key_file_name(std::string_view key);

/// The content of a file: the version, the key and the value.
struct key_file {
  std::string version;
  std::string value;

  static constexpr std::string_view first_word = "elastic-key-1";
  static constexpr std::size_t most_bytes =
      limits::store_value_bytes + limits::store_key_bytes + 256;

  /// "elastic-key-1 <version> <bytes of the key> <bytes of the value> <checksum>\n<key>\n<value>"
  ELASTIC_DECL static std::string to_text(std::string_view version, std::string_view key,
                                          std::string_view value);

  /// Parses a text that `to_text` made for the key. Result: empty for any other text.
  ELASTIC_DECL static std::optional<key_file> parse(std::string_view text, std::string_view key);

 private:
  ELASTIC_DECL static bool read_number(std::string_view digits, std::size_t& number);
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/detail/key_file.ipp>
#endif

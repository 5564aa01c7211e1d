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

// What the file of a key is called, and what is in it.
namespace elastic::detail {

/// FNV-1a, 64 bits: finds damage, not malice.
ELASTIC_DECL std::uint64_t checksum(std::string_view bytes,
                                    std::uint64_t start = 14695981039346656037U);

/// The key, readable if it can be. Begins with no dot, and is no longer than a name may be:
/// a key for which it would be is cut and told apart by its checksums.
ELASTIC_DECL std::string key_file_name(std::string_view key);

/// What a file holds: who wrote it last, which key it is of, and the value.
struct key_file {
  std::string version;
  std::string value;

  static constexpr std::string_view first_word = "elastic-key-1";
  static constexpr std::size_t most_bytes =
      limits::store_value_bytes + limits::store_key_bytes + 256;

  /// "elastic-key-1 <version> <bytes of the key> <bytes of the value> <checksum>\n<key>\n<value>"
  ELASTIC_DECL static std::string to_text(std::string_view version, std::string_view key,
                                          std::string_view value);

  /// Reads what `to_text` has made of the key. Result: none if the text is anything else.
  ELASTIC_DECL static std::optional<key_file> parse(std::string_view text, std::string_view key);

 private:
  ELASTIC_DECL static bool read_number(std::string_view digits, std::size_t& number);
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/detail/impl/key_file.ipp>
#endif

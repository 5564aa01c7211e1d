// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace elastic::detail {

/// How many bytes at the end of `text` are the start of an incomplete character; 0 to 3.
ELASTIC_DECL std::size_t unfinished_character(std::string_view text);

/// The first `most` bytes of a text, without an incomplete character at the end.
ELASTIC_DECL std::string_view beginning_of(std::string_view text, std::size_t most);

/// Appends `text` as the content of a JSON string. Each byte sequence that is not UTF-8 becomes
/// U+FFFD.
ELASTIC_DECL void append_json_text(std::string& out, std::string_view text);

/// The same as a JSON string, with its quotes.
ELASTIC_DECL std::string json_string(std::string_view text);

/// Appends the last `digits` hexadecimal digits of a number.
ELASTIC_DECL void append_hexadecimal(std::string& out, std::uint64_t number,
                                     std::size_t digits);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/json_text.ipp>
#endif

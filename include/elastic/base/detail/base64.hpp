// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Base64 with the standard alphabet and padding, without line breaks (RFC 4648, section 4).
namespace elastic::detail {

inline constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The length of the text for `bytes` bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

ELASTIC_DECL std::string to_base64(std::string_view bytes);

/// Result: empty if `text` is not a possible result of `to_base64`. Each value therefore has
/// exactly one text, and comparing texts compares values.
ELASTIC_DECL std::optional<std::string> from_base64(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/base64.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How all stores treat the keys and values of their user. The `check` functions throw
// `errc::invalid_argument`.
namespace elastic::detail {

ELASTIC_DECL void check_store_key(std::string_view key);

ELASTIC_DECL void check_store_value(std::string_view value);

ELASTIC_DECL void check_store_key_count(std::size_t count);

ELASTIC_DECL void check_store_request(std::size_t bytes);

/// The key on the wire for a key of the user, as PyTorch's clients form it.
ELASTIC_DECL std::string store_wire_key(std::string_view key);

ELASTIC_DECL std::vector<std::string> store_wire_keys(const std::vector<std::string>& keys);

/// The number at the front of a text, as `strtoll` parses it in base 10: after whitespace, up to
/// the first character that does not belong to it. Empty if there is no number, or if it does not
/// fit into 64 bits.
ELASTIC_DECL std::optional<std::int64_t> leading_number(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/store_keys.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

// The only calls of nlohmann's parser in the core: `json::parse` compiles two parsers for each type
// of text, one of them for a callback. The core uses only one type of JSON value, because each
// further one would cost as much again. Its objects keep the order of their members.

/// An object with more members is not a message; a lookup takes time in proportion to them.
inline constexpr std::size_t message_members = 256;

/// The value of a JSON text. Discarded if the text is not JSON, if an object in it has more than
/// `most_members`, or if it is nested more than 128 levels deep.
/// @param complaint  unless null, receives the reason why the text is not JSON
ELASTIC_DECL nlohmann::ordered_json parse_json(std::string_view text,
                                               std::string* complaint = nullptr,
                                               std::size_t most_members = message_members);

/// Why a text is not JSON; empty if it is. Stores no values, so there is no limit on members.
ELASTIC_DECL std::string json_fault(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/json_document.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

// The only calls of nlohmann's parser in the core: `json::parse` compiles two parsers for each type
// of a text that it is given, one of them for a callback.

/// The value of a JSON text; discarded if the text is not JSON.
/// @param complaint  unless it is null, receives the reason why the text is not JSON
ELASTIC_DECL nlohmann::json parse_json(std::string_view text, std::string* complaint = nullptr);

/// The same with the members of objects in the order of the text. A lookup takes time in proportion
/// to the members, so the caller bounds their number.
ELASTIC_DECL nlohmann::ordered_json parse_ordered_json(std::string_view text,
                                                       std::string* complaint = nullptr);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/json_document.ipp>
#endif

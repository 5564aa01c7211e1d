// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for messages of the library's own protocols.

#include <elastic/base/config.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A field of a JSON object, without the content of lists, objects and fractions.
struct plain_field {
  enum class type {
    null,
    /// `number` is 0 or 1.
    flag,
    number,
    /// An integer that does not fit into `number`.
    large_number,
    text,
    other,
  };

  std::string_view name;
  type kind = type::other;
  std::int64_t number = 0;
  std::string_view text = {};
};

/// Parses a JSON object that contains only texts of printable ASCII without escapes, integers of at
/// most 18 digits, true, false and null. Almost every message is like that, and a full JSON parser
/// takes ten times as long for it.
///
/// Result: the fields in their order, which refer to `text`; false if `text` contains anything
/// else, or is not JSON at all.
ELASTIC_DECL bool read_plain_json(std::string_view text, std::vector<plain_field>& fields);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/plain_json.ipp>
#endif

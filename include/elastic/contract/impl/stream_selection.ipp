// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/stream_selection.hpp>

#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL stream_selection& stream_selection::set(int local_rank, std_streams streams) {
  by_rank_[local_rank] = streams;
  return *this;
}

ELASTIC_DECL std_streams stream_selection::of(int local_rank) const {
  const auto named = by_rank_.find(local_rank);
  return named == by_rank_.end() ? others_ : named->second;
}

namespace detail {

inline bool is_stream_digit(char letter) { return letter >= '0' && letter <= '3'; }

/// Whether the text is an entry "r:v" of a mapping.
inline bool is_stream_pair(std::string_view pair) {
  return pair.size() == 3 && pair[0] >= '0' && pair[0] <= '9' && pair[1] == ':' &&
         is_stream_digit(pair[2]);
}

}  // namespace detail

ELASTIC_DECL stream_selection stream_selection::parse(std::string_view text) {
  const auto streams = [](char digit) { return static_cast<std_streams>(digit - '0'); };
  if (text.size() == 1 && detail::is_stream_digit(text[0])) return {streams(text[0])};
  stream_selection selection;
  std::string_view rest = text;
  while (detail::is_stream_pair(rest.substr(0, 3))) {
    selection.set(rest[0] - '0', streams(rest[2]));
    if (rest.size() == 3) return selection;
    if (rest[3] != ',') break;
    rest.remove_prefix(4);
  }
  throw error(errc::invalid_argument,
              fmt::format("\"{}\" selects no streams: it must be 0 (none), 1 (stdout), 2 (stderr) "
                          "or 3 (both) for all workers, or a list such as 0:3,1:1 by local rank "
                          "(one digit)",
                          text));
}

}  // namespace elastic

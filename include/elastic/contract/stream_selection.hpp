// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic {

/// Some of a worker's two output streams. The values are those of torchrun's `-r` and `-t`.
enum class std_streams { none = 0, out = 1, err = 2, both = 3 };

constexpr std_streams operator|(std_streams left, std_streams right) {
  return static_cast<std_streams>(static_cast<int>(left) | static_cast<int>(right));
}
constexpr std_streams operator&(std_streams left, std_streams right) {
  return static_cast<std_streams>(static_cast<int>(left) & static_cast<int>(right));
}

/// Whether `streams` has all of `wanted`.
constexpr bool contains(std_streams streams, std_streams wanted) {
  return (streams & wanted) == wanted;
}

/// Which streams of which workers of a node are meant: the same for all, or by local rank.
///
/// Thread-safety: that of a value.
class stream_selection {
 public:
  /// The same streams of every worker; none of any where left out.
  stream_selection(std_streams all = std_streams::none) : others_(all) {}

  /// What torchrun's `-r` and `-t` take: "3" for all workers, or "0:3,1:0" by local rank, where a
  /// rank is one digit and ranks that are not named have no streams; the last of a repeated rank
  /// wins.
  ///
  /// Errors: `errc::invalid_argument` for anything else.
  static stream_selection parse(std::string_view text);

  /// Selects `streams` for one worker, instead of what holds for all.
  stream_selection& set(int local_rank, std_streams streams) {
    by_rank_[local_rank] = streams;
    return *this;
  }

  /// The streams that are meant of the worker with this local rank.
  std_streams of(int local_rank) const {
    const auto named = by_rank_.find(local_rank);
    return named == by_rank_.end() ? others_ : named->second;
  }

  friend bool operator==(const stream_selection&, const stream_selection&) = default;

 private:
  std_streams others_;
  std::map<int, std_streams> by_rank_;
};

namespace detail {

inline bool is_stream_digit(char letter) { return letter >= '0' && letter <= '3'; }

/// "r:v" of a mapping.
inline bool is_stream_pair(std::string_view pair) {
  return pair.size() == 3 && pair[0] >= '0' && pair[0] <= '9' && pair[1] == ':' &&
         is_stream_digit(pair[2]);
}

}  // namespace detail

inline stream_selection stream_selection::parse(std::string_view text) {
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
              fmt::format("\"{}\" selects no streams: allowed are 0 (none), 1 (stdout), 2 (stderr) "
                          "and 3 (both) for all workers, or a list such as 0:3,1:1 by local rank "
                          "(one digit)",
                          text));
}

}  // namespace elastic

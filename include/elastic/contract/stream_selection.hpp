// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <map>
#include <string_view>

namespace elastic {

/// A subset of a worker's two output streams. The values are those of torchrun's `-r` and `-t`.
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

/// A selection of streams of a node's workers: the same for all, or by local rank.
///
/// Thread-safety: that of a value.
class stream_selection {
 public:
  /// The same streams for every worker; by default none.
  stream_selection(std_streams streams = std_streams::none) : others_(streams) {}

  /// The values of torchrun's `-r` and `-t`: "3" for all workers, or "0:3,1:0" by local rank. There
  /// a rank has one digit, ranks that are not listed have no streams, and if a rank is repeated,
  /// the last one counts.
  ///
  /// Errors: `errc::invalid_argument` for anything else.
  ELASTIC_DECL static stream_selection parse(std::string_view text);

  /// Selects `streams` for one worker, which overrides the selection for all.
  ELASTIC_DECL stream_selection& set(int local_rank, std_streams streams);

  /// The selected streams of the worker with this local rank.
  ELASTIC_DECL std_streams of(int local_rank) const;

  friend bool operator==(const stream_selection&, const stream_selection&) = default;

 private:
  std_streams others_;
  std::map<int, std_streams> by_rank_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/stream_selection.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/node_id.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace elastic::detail {

/// What nodes agree on: who is in the round, who waits for the next one.
///
/// Times are those of one monotonic clock: of the server that keeps the state, or of the one node
/// that looks at it. Times of two nodes never meet in it.
struct round_state {
  std::int64_t round = 0;
  /// The round has its nodes: those that are in it run.
  bool complete = false;
  /// The job has ended; no round follows.
  bool closed = false;
  /// The nodes of this round are not known beforehand, so it has a last call once it has enough.
  bool unknown_nodes = true;
  /// The end of the last call.
  std::optional<time_point> deadline = std::nullopt;
  /// When a running round ends for those that stand by and make a larger one possible.
  std::optional<time_point> scale_up_at = std::nullopt;
  /// With their ranks, once the round is complete.
  std::map<node_id, int> participants = {};
  /// Nodes that the next round takes in.
  std::set<node_id> wait_list = {};
  /// Nodes beyond what the round can have: they stand by for one that is lost, or for others.
  std::set<node_id> redundancy_list = {};

  friend bool operator==(const round_state&, const round_state&) = default;
};

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace elastic::detail {

/// The state on which nodes agree: which nodes are in the round, and which wait for the next one.
///
/// Its times are those of one monotonic clock: that of the server that keeps the state, or that of
/// the node that reads it. It never mixes the times of two nodes.
struct round_state {
  std::int64_t round = 0;
  /// The round has its nodes, and they run.
  bool complete = false;
  /// The job has ended; no round follows.
  bool closed = false;
  /// The nodes of this round are not known beforehand, so it has a last call once it has enough.
  bool unknown_nodes = true;
  /// The end of the last call.
  std::optional<time_point> deadline = std::nullopt;
  /// The time at which a running round ends, because nodes that stand by make a larger round
  /// possible.
  std::optional<time_point> scale_up_at = std::nullopt;
  /// The nodes of the round; their ranks are valid once it is complete.
  std::map<node_id, int> participants = {};
  /// Nodes that the next round admits.
  std::set<node_id> wait_list = {};
  /// Nodes beyond the maximum of the round: they stand by until a node is lost, or until there are
  /// enough nodes for a larger round.
  std::set<node_id> redundancy_list = {};

  friend bool operator==(const round_state&, const round_state&) = default;
};

}  // namespace elastic::detail

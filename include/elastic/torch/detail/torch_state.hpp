// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/node_id.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// A time of day in UTC, as exact as Python's.
using torch_time = std::chrono::sys_time<std::chrono::microseconds>;

/// The value that the agents of PyTorch share in their rendezvous, whatever its dialect.
struct torch_state {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  torch_state() = default;

  std::int64_t round = 0;
  /// Whether the round is formed: its participants have their ranks and may start.
  bool complete = false;
  /// Whether the job is over for every node.
  bool closed = false;
  /// When the round is complete although more nodes could join; none while there are too few.
  std::optional<torch_time> deadline;
  /// The nodes of the round and their ranks, which are all 0 until it is complete.
  std::map<node_id, int> participants;
  /// The nodes that wait to join the next round.
  std::set<node_id> wait_list;
  /// The nodes that wait for a place in this one; only `torch_dialect::torch_2_6` has them.
  std::set<node_id> redundancy_list;
  /// When each node last said that it lives, by the clock of that node.
  std::map<node_id, torch_time> last_heartbeats;

  /// Attributes that the dialect does not know, by name. Each is kept as the pickle operations that
  /// make it, as `decode_torch_state` found them, and written back in the same dialect.
  std::map<std::string, std::string> extra;
  /// The dialect that a decoded state was written in; none if it holds nothing that tells.
  std::optional<torch_dialect> seen_dialect;

  friend bool operator==(const torch_state&, const torch_state&) = default;
};

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// A time of day in UTC, with Python's precision.
using torch_time = std::chrono::sys_time<std::chrono::microseconds>;

/// The value that PyTorch's agents share in their rendezvous, independent of its dialect.
struct torch_state {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  torch_state() = default;

  std::int64_t round = 0;
  /// Whether the round is complete: its participants have their ranks and may start.
  bool complete = false;
  /// Whether the job is over for every node.
  bool closed = false;
  /// When the round becomes complete although more nodes could join; empty while there are too few.
  std::optional<torch_time> deadline;
  /// The nodes of the round and their ranks, which are all 0 until it is complete.
  std::map<node_id, int> participants;
  /// The nodes that wait to join the next round.
  std::set<node_id> wait_list;
  /// The nodes that wait for a place in this one; only `torch_dialect::torch_2_6` has them.
  std::set<node_id> redundancy_list;
  /// When each node last showed that it lives, by the clock of that node.
  std::map<node_id, torch_time> last_heartbeats;

  /// Attributes unknown to the dialect, by name. Each is stored as the pickle operations that
  /// `decode_torch_state` found, and written back in the same dialect.
  std::map<std::string, std::string> extra;
  /// The dialect of a decoded state; empty if the state does not show it.
  std::optional<torch_dialect> seen_dialect;

  friend bool operator==(const torch_state&, const torch_state&) = default;
};

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace elastic::detail {

/// The fence of the server's own node: the time at which it must have no worker left. Once all
/// other nodes of its round have lost the server, they may continue with another one. Off until
/// `enable`. Pure: no clocks, no I/O.
class own_fence {
 public:
  void enable() { is_on_ = true; }
  bool is_on() const { return is_on_; }

  /// A round is complete.
  /// @param nodes  how many nodes it has
  /// @param has_own_node  the server's node is one of them
  void begin_round(std::size_t nodes, bool has_own_node) {
    is_reached_ = false;
    has_one_left_ = false;
    guards_round_ = has_own_node && nodes > 1;
  }

  /// A node of the round has left in order, so it will never report that it has lost the server.
  void node_left() { has_one_left_ = true; }

  /// A node was given up, whose last connection ended at `end`.
  void node_lost(time_point end) { last_loss_ = std::max(last_loss_.value_or(end), end); }

  /// The server's node has been disconnected, so that it stops its workers.
  void reach() { is_reached_ = true; }
  bool is_reached() const { return is_reached_; }

  /// Whether the other nodes of the present round may continue without the server's node.
  bool applies() const { return is_on_ && guards_round_ && !is_reached_ && !has_one_left_; }

  /// The end of the last connection of the nodes that were given up; empty: none was.
  std::optional<time_point> last_loss() const { return last_loss_; }

 private:
  bool is_on_ = false;
  bool guards_round_ = false;
  bool is_reached_ = false;
  bool has_one_left_ = false;
  std::optional<time_point> last_loss_;
};

}  // namespace elastic::detail

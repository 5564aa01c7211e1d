// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <map>
#include <optional>
#include <vector>

namespace elastic::detail {

/// Turns the times of day that a state holds, each by the clock of another node, into times of
/// this node. What counts is when a value was first seen here: no two clocks are compared, so
/// that a node whose clock is wrong is neither lost nor immortal.
class torch_state_clock {
 public:
  /// Takes in a state that was read at `now`. Nodes that it does not name any more are forgotten.
  ELASTIC_DECL void observe(const torch_state& state, time_point now);

  /// The nodes whose heartbeat had not changed for longer than `allowed` when the state was last
  /// read, in their order. What happened since is not known, so a node is not lost only because
  /// the state was not read for long. At its first sight a heartbeat counts as new, however old it
  /// says that it is.
  ELASTIC_DECL std::vector<node_id> dead(duration allowed) const;

  /// When the deadline that the state has now was first seen; none if it has none.
  ELASTIC_DECL std::optional<time_point> deadline_seen() const;

 private:
  struct seen {
    torch_time value;
    time_point since;
  };

  time_point observed_;
  std::map<node_id, seen> heartbeats_;
  std::optional<seen> deadline_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/torch_state_clock.ipp>
#endif

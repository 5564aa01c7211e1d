// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <map>
#include <optional>
#include <vector>

namespace elastic::detail {

/// Translates the times of day in a state, each by the clock of another node, into times of this
/// node. Only the time at which this node first saw a value matters. Clocks are never compared, so
/// that a node with a wrong clock is neither lost nor immortal.
class torch_state_clock {
 public:
  /// Takes a state that was read at `now`. Forgets nodes that are no longer in it.
  ELASTIC_DECL void observe(const torch_state& state, time_point now);

  /// The nodes, in order, whose heartbeat had not changed for longer than `allowed` when the state
  /// was last read. What happened since then is unknown, so a long time without a read does not
  /// make a node lost. A heartbeat counts as new when it is first seen, however old its time is.
  ELASTIC_DECL std::vector<node_id> dead(duration allowed) const;

  /// When the current deadline of the state was first seen; empty if it has none.
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

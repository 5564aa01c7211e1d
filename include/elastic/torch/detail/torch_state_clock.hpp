// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

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
  void observe(const torch_state& state, time_point now);

  /// The nodes, in order, whose heartbeat had not changed for longer than `allowed` when the state
  /// was last read. What happened since then is unknown, so a long time without a read does not
  /// make a node lost. A heartbeat counts as new when it is first seen, however old its time is.
  std::vector<node_id> dead(duration allowed) const;

  /// When the current deadline of the state was first seen; empty if it has none.
  std::optional<time_point> deadline_seen() const;

 private:
  struct seen {
    torch_time value;
    time_point since;
  };

  time_point observed_;
  std::map<node_id, seen> heartbeats_;
  std::optional<seen> deadline_;
};

inline void torch_state_clock::observe(const torch_state& state, time_point now) {
  observed_ = now;
  std::map<node_id, seen> heartbeats;
  for (const auto& [id, value] : state.last_heartbeats) {
    const auto former = heartbeats_.find(id);
    const bool is_new = former == heartbeats_.end() || former->second.value != value;
    heartbeats.emplace(id, seen{value, is_new ? now : former->second.since});
  }
  heartbeats_.swap(heartbeats);
  if (!state.deadline) {
    deadline_.reset();
  } else if (!deadline_ || deadline_->value != *state.deadline) {
    deadline_ = seen{*state.deadline, now};
  }
}

inline std::vector<node_id> torch_state_clock::dead(duration allowed) const {
  std::vector<node_id> nodes;
  for (const auto& [id, heartbeat] : heartbeats_) {
    if (observed_ - heartbeat.since > allowed) nodes.push_back(id);
  }
  return nodes;
}

inline std::optional<time_point> torch_state_clock::deadline_seen() const {
  if (!deadline_) return std::nullopt;
  return deadline_->since;
}

}  // namespace elastic::detail

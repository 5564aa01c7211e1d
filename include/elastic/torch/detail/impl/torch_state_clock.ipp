// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_state_clock.hpp>

namespace elastic::detail {

ELASTIC_DECL void torch_state_clock::observe(const torch_state& state, time_point now) {
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

ELASTIC_DECL std::vector<node_id> torch_state_clock::dead(duration allowed) const {
  std::vector<node_id> nodes;
  for (const auto& [id, heartbeat] : heartbeats_) {
    if (observed_ - heartbeat.since > allowed) nodes.push_back(id);
  }
  return nodes;
}

ELASTIC_DECL std::optional<time_point> torch_state_clock::deadline_seen() const {
  if (!deadline_) return std::nullopt;
  return deadline_->since;
}

}  // namespace elastic::detail

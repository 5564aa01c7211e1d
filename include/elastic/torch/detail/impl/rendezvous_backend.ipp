// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/rendezvous_backend.hpp>

namespace elastic::detail {

ELASTIC_DECL task<void> rendezvous_backend::say_alive(node_id) { co_return; }

ELASTIC_DECL task<void> rendezvous_backend::say_gone() { co_return; }

ELASTIC_DECL std::set<node_id> nodes_of(const torch_state& state) {
  std::set<node_id> nodes = state.wait_list;
  nodes.insert(state.redundancy_list.begin(), state.redundancy_list.end());
  for (const auto& [node, rank] : state.participants) nodes.insert(node);
  for (const auto& [node, time] : state.last_heartbeats) nodes.insert(node);
  return nodes;
}

}  // namespace elastic::detail

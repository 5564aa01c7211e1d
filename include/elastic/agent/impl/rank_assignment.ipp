// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_assignment.hpp>

#include <elastic/base/assert.hpp>

#include <cstddef>

namespace elastic {

ELASTIC_DECL std::vector<assigned_ranks> assign_ranks(const std::vector<role_info>& nodes) {
  std::vector<assigned_ranks> assigned(nodes.size());
  int world_size = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    ELASTIC_ASSERT(nodes[node].local_world_size > 0);
    assigned[node].base_rank = world_size;
    world_size += nodes[node].local_world_size;
    for (std::size_t other = 0; other < nodes.size(); ++other) {
      if (nodes[other].role != nodes[node].role) continue;
      assigned[other].role_world_size += nodes[node].local_world_size;
      if (other > node) assigned[other].base_role_rank += nodes[node].local_world_size;
    }
  }
  for (assigned_ranks& ranks : assigned) ranks.world_size = world_size;
  return assigned;
}

}  // namespace elastic

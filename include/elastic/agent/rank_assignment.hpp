// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>

#include <string>
#include <vector>

namespace elastic {

/// What a node tells the others of a round about its workers.
struct role_info {
  std::string role;
  int local_world_size = 1;
};

/// What a node needs to know to number its workers.
struct assigned_ranks {
  /// The rank of its first worker among all workers, and their number.
  int base_rank = 0;
  int world_size = 0;
  /// The same among the workers of its role.
  int base_role_rank = 0;
  int role_world_size = 0;

  friend bool operator==(const assigned_ranks&, const assigned_ranks&) = default;
};

/// Numbers the workers of a round: contiguous in the order of `nodes`, which is that of the group
/// ranks, and contiguous within each role.
///
/// Source: torch.distributed.elastic.agent.server.api, `_assign_worker_ranks`.
inline std::vector<assigned_ranks> assign_ranks(const std::vector<role_info>& nodes) {
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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// The announcement of a node about its workers to the other nodes of a round.
struct role_info {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  role_info() = default;
  role_info(std::string name, int workers, bool same_everywhere = false)
      : role(std::move(name)),
        local_world_size(workers),
        is_same_everywhere(same_everywhere) {}

  std::string role;
  int local_world_size = 1;
  /// Every node of the round has the same number of workers, all of this role, and declares it. So
  /// each node can compute its ranks without waiting for the others.
  bool is_same_everywhere = false;
};

/// The numbers from which a node derives the ranks of its workers.
struct assigned_ranks {
  /// The rank of its first worker among all workers, and their number.
  int base_rank = 0;
  int world_size = 0;
  /// The same among the workers of its role.
  int base_role_rank = 0;
  int role_world_size = 0;

  friend bool operator==(const assigned_ranks&, const assigned_ranks&) = default;
};

/// Numbers the workers of a round: contiguously in the order of `nodes`, which is the order of the
/// group ranks, and contiguously within each role.
///
/// Errors: `errc::invalid_argument` if a node has less than one worker.
/// Source: torch.distributed.elastic.agent.server.api, `_assign_worker_ranks`.
ELASTIC_DECL std::vector<assigned_ranks> assign_ranks(const std::vector<role_info>& nodes);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/rank_assignment.ipp>
#endif

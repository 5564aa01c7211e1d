// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstdint>
#include <vector>

namespace elastic::detail {

/// The newest complete round of a job. It has everything that the nodes of the round receive, even
/// if they ask again after others have left, and everything that another server needs to take over
/// the job.
struct newest_round {
  std::int64_t round = -1;
  /// `node_id::number.high` of each node, in the order of ranks.
  std::vector<std::uint64_t> members;
  /// The number of the server's own node if it is one of them; otherwise 0.
  std::uint64_t leader_node = 0;
  /// The rank of the node whose agent runs the server; -1: it is not in the round.
  int host_rank = -1;
  int world_size = 0;
  /// How often workers of the job had failed when the round became complete.
  int restarts = 0;
  /// The term of the server that made the round.
  std::int64_t term = 0;
  rendezvous_round::master_endpoint master;
};

}  // namespace elastic::detail

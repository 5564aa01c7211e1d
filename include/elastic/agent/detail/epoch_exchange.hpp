// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rejoin_machine.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <string>

namespace elastic::detail {

/// A node's place in an epoch, and how the epoch begins for all nodes.
struct epoch_agreement {
  assigned_ranks ranks;
  int place = 0;
  bool is_possible = false;
  bool keeps_survivors = false;
  std::string reason;
};

/// What a node tells the others of its workers and of itself. Agents that do not replace ranks read
/// what they know of it.
ELASTIC_DECL std::string node_epoch_text(const role_info& mine, const node_epoch& self,
                                         int group_rank);

/// What another node has told; one that does not replace ranks is `node_epoch()`.
/// Errors: `errc::protocol_violation`, naming the node.
ELASTIC_DECL node_epoch parse_node_epoch(const std::string& text, int group_rank);

/// What the node of group rank 0 answers to each node, and what it reads.
/// Errors: `errc::protocol_violation`.
ELASTIC_DECL std::string epoch_agreement_text(const epoch_agreement& agreement);
ELASTIC_DECL epoch_agreement parse_epoch_agreement(const std::string& text);

/// The exchange of ranks among nodes that keep workers: it costs what the exchange of PyTorch's
/// agents costs, in whose keys it lies, and two more keys for each node.
///
/// Errors and cancellation: those of `exchange_ranks`.
ELASTIC_DECL task<epoch_agreement> exchange_epoch(rendezvous_round round, role_info mine,
                                                  node_epoch self);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/epoch_exchange.ipp>
#endif

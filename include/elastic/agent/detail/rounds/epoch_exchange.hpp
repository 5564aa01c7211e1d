// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/rejoin_machine.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <string>

namespace elastic::detail {

/// The agreement about an epoch: a node's ranks in it, and how it begins for all nodes.
struct epoch_agreement {
  assigned_ranks ranks;
  int place = 0;
  bool is_possible = false;
  bool keeps_survivors = false;
  std::string reason;
};

/// The text that a node sends to the others about its workers and itself. Agents that do not
/// replace ranks ignore the fields that they do not know.
ELASTIC_DECL std::string node_epoch_text(const role_info& mine, const node_epoch& self,
                                         int group_rank);

/// Parses the text of another node; a node that does not replace ranks yields `node_epoch()`.
/// Errors: `errc::protocol_violation`; the message names the node.
ELASTIC_DECL node_epoch parse_node_epoch(const std::string& text, int group_rank);

/// Writes and parses the answer of the node of group rank 0 to each node.
/// Errors: `errc::protocol_violation`.
ELASTIC_DECL std::string epoch_agreement_text(const epoch_agreement& agreement);
ELASTIC_DECL epoch_agreement parse_epoch_agreement(const std::string& text);

/// Exchanges ranks among nodes that keep workers. It uses the keys of PyTorch's exchange and costs
/// as much, plus two more keys for each node.
///
/// Errors and cancellation: those of `exchange_ranks`.
ELASTIC_DECL task<epoch_agreement> exchange_epoch(rendezvous_round round, role_info mine,
                                                  node_epoch self);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/epoch_exchange.ipp>
#endif

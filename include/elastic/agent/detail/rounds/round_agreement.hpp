// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/epoch_exchange.hpp>
#include <elastic/agent/detail/rounds/rejoin_machine.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Checks a round that a rendezvous handler returned.
/// @param backend  the handler's name
/// Errors: `errc::rendezvous_state`; the message names the backend and the problem.
ELASTIC_DECL void check_round(const rendezvous_round& round, const std::string& backend);

/// The agreement that the agents of a round reach over its store.
struct round_agreement {
  assigned_ranks ranks;
  rendezvous_round::master_endpoint master;
  /// Set for nodes that keep workers; it has the same ranks.
  std::optional<epoch_agreement> epoch;
  /// The addresses of each node's workers, as the node reported them; empty: not requested.
  std::vector<std::string> places;
};

/// A function that returns this node's report about its workers to workers of other roles, once
/// their ranks are known. Empty: there is none. May be called again in the same round.
using place_source = std::function<std::string(const round_agreement&)>;

/// Exchanges data about workers with the other agents of a round. Learns the ranks of this node's
/// workers and the address of their master.
///
/// It tries twice, since a connection left from the last round may have broken unnoticed. If the
/// store is gone with its node, the round will end soon, and that end matters more than the store's
/// error. So the store's error is thrown only after `limits::rendezvous_reconnect_timeout`.
///
/// @param mine    this node's workers
/// @param self  this node's facts about the last epoch; empty: it does not replace ranks
/// @param places  set if the job has other roles; must be set on all of its nodes or on none
/// Errors: `errc::rendezvous_timeout` if a node has not answered within the round's
/// `exchange_timeout`; those of `exchange_ranks`. Cancellation: all types; values that were written
/// stay in the store.
ELASTIC_DECL task<round_agreement> agree_on_round(std::shared_ptr<time_source> time,
                                                  rendezvous_round round, role_info mine,
                                                  std::optional<node_epoch> self = std::nullopt,
                                                  place_source places = {});

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/round_agreement.ipp>
#endif

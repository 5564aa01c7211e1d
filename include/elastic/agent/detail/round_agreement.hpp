// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/epoch_exchange.hpp>
#include <elastic/agent/detail/rejoin_machine.hpp>
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

/// Checks what a rendezvous handler returned as a round.
/// @param backend  the handler's name
/// Errors: `errc::rendezvous_state`, naming the backend and what is wrong.
ELASTIC_DECL void check_round(const rendezvous_round& round, const std::string& backend);

/// What the agents of a round agree on over its store.
struct round_agreement {
  assigned_ranks ranks;
  rendezvous_round::master_endpoint master;
  /// Of nodes that keep workers; the ranks are those above.
  std::optional<epoch_agreement> epoch;
  /// Where the workers of each node are, as it has told; empty: nobody was asked.
  std::vector<std::string> places;
};

/// What this node tells of its workers for those of other roles, when it knows their ranks; empty:
/// nothing. May be called again in the same round.
using place_teller = std::function<std::string(const round_agreement&)>;

/// Tells the other agents of a round about this node's workers; learns their ranks, and where their
/// master is.
///
/// A connection that is left from the last round may have broken unseen: so it is tried twice. A
/// store that is gone, with the node that hosted it, makes the round end soon: then that is what
/// counts, and the store's error comes only after `limits::rendezvous_reconnect_timeout`.
///
/// @param mine    this node's workers
/// @param self    what this node knows of the last epoch; none: it does not replace ranks
/// @param places  where the job has other roles, which all of its nodes say alike
/// Errors: `errc::rendezvous_timeout` if not all have told within the round's `exchange_timeout`;
/// those of `exchange_ranks`. Cancellation: all types; values written stay in the store.
ELASTIC_DECL task<round_agreement> agree_on_round(std::shared_ptr<time_source> time,
                                                  rendezvous_round round, role_info mine,
                                                  std::optional<node_epoch> self = std::nullopt,
                                                  place_teller places = {});

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/round_agreement.ipp>
#endif

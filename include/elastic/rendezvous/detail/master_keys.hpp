// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/store.hpp>

#include <memory>

namespace elastic::detail {

/// Tells the other agents of a round where the workers meet, in the way of PyTorch's agents.
/// Errors, cancellation: those of the store.
ELASTIC_DECL task<void> publish_master(std::shared_ptr<store> agents,
                                       rendezvous_round::master_endpoint master);

/// Waits until the agent of group rank 0 has published where the workers meet. The keys do not say
/// who serves there.
///
/// Errors: those of the store; `errc::protocol_violation` for a malformed value.
/// Cancellation: all types, no effect.
ELASTIC_DECL task<rendezvous_round::master_endpoint> read_master(std::shared_ptr<store> agents);

/// Agrees on where the workers of a round meet: at `mine` of the node of group rank 0.
ELASTIC_DECL task<rendezvous_round::master_endpoint> agree_on_master(
    std::shared_ptr<store> agents, rendezvous_round::master_endpoint mine, int group_rank);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/master_keys.ipp>
#endif

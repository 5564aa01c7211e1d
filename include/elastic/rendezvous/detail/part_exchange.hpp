// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// What a part of an agent and those of the other nodes of a round tell each other.
struct part_exchange {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  part_exchange() = default;

  std::shared_ptr<time_source> time;
  logger log;
  rendezvous_round round;
  /// The prefix of the keys, different for each part and round, because rounds may share a store.
  std::string prefix;
  /// What each node announces: "the wire-up jax".
  std::string subject;
};

/// Publishes the text of this node, and reads those of all nodes, in the order of group ranks. A
/// node without the part takes no part in this, so after 10 s a line of the log says what is
/// missing.
///
/// Errors: `errc::rendezvous_timeout` if a node is silent for the round's `exchange_timeout`;
/// `errc::connection_failed`, some time after the node of the store is gone, so that the end of the
/// round is reported instead.
/// Cancellation: all types; the text may be published.
ELASTIC_DECL task<std::vector<std::string>> exchange_texts(part_exchange terms, std::string mine);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/part_exchange.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace elastic {

/// Where the workers of a round find each other: MASTER_ADDR, MASTER_PORT and who serves there.
struct master_endpoint {
  std::string address;
  std::uint16_t port = 0;
  /// True: an agent serves a store there, and every worker is a client of it. False: the worker
  /// of rank 0 is expected to serve.
  bool served_by_agent = false;
};

/// What one round of the rendezvous agreed upon.
struct rendezvous_round {
  std::int64_t round = 0;
  /// This node's place among the nodes of the round, 0 … group_world_size - 1.
  int group_rank = 0;
  int group_world_size = 1;
  /// Shared by the agents of this round and of no other.
  std::shared_ptr<store> agents;
  /// How long these agents wait for each other to tell about their workers.
  duration exchange_timeout = std::chrono::seconds(300);
  master_endpoint master;
};

/// How nodes agree on who is in. Implement it to bring your own; register it under a name
/// (`rendezvous_registry`) to make it available to `--rdzv-backend`.
///
/// Thread-safety: one strand at a time.
class rendezvous_handler {
 public:
  virtual ~rendezvous_handler() = default;

  /// The name under which it is registered, such as "c10d".
  virtual std::string backend() const = 0;

  virtual std::string run_id() const = 0;

  /// Leaves the round that this node is in, if any, and takes part in the next one. What served
  /// the workers of the round before (its master endpoint) ends: call it when they are gone.
  ///
  /// Errors: `errc::rendezvous_closed`, `errc::rendezvous_timeout`, `errc::rendezvous_state`,
  /// `errc::connection_failed`.
  /// Cancellation: all types; this node is then in no round.
  virtual task<rendezvous_round> next_round() = 0;

  /// Waits until the membership of the round should change: a node waits to join, or one was lost.
  ///
  /// Errors: `errc::rendezvous_closed`, `errc::connection_failed`.
  /// Cancellation: all types, no effect.
  virtual task<void> wait_for_change() = 0;

  /// How many nodes wait to join the next round.
  virtual task<int> num_nodes_waiting() = 0;

  virtual task<bool> is_closed() = 0;

  /// Closes the rendezvous: the job is over for every node, and later ones are told so.
  virtual task<void> close() = 0;

  /// Leaves without closing, and ends everything that this handler runs. The last call.
  virtual task<void> shutdown() = 0;
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace elastic {

/// What one round of the rendezvous agreed upon.
struct rendezvous_round {
  /// Where the workers of a round meet: MASTER_ADDR, MASTER_PORT and who serves the store there.
  struct master_endpoint {
    std::string address = {};
    std::uint16_t port = 0;
    /// True: an agent serves a store there, and every worker is its client. False: the worker of
    /// rank 0 is expected to serve it.
    bool served_by_agent = false;
  };

  /// How the agents of a round exchange information about their workers.
  enum class agent_dialect {
    /// Like PyTorch's since 2.4: the node of group rank 0 collects the information of all, and
    /// assigns the ranks.
    assign,
    /// Like PyTorch's before 2.4: each node reads the information of all, and computes its ranks.
    /// Then the node of group rank 0 tells the others where the workers meet.
    gather,
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  rendezvous_round() = default;

  /// The number of the round, which increases for each node.
  std::int64_t round = 0;
  /// The term of the server that made the round, if there is a server; nodes that lost a server may
  /// have been in a round with the same number.
  std::int64_t term = 0;
  /// This node's rank among the nodes of the round, 0 … group_world_size - 1.
  int group_rank = 0;
  int group_world_size = 1;
  /// How often workers of the job have failed before, which is compared with max_restarts.
  int restarts = 0;
  /// Shared only by the agents of this round.
  std::shared_ptr<store> agents;
  /// How long these agents wait for each other's information about their workers.
  duration exchange_timeout = std::chrono::seconds(300);
  agent_dialect dialect = agent_dialect::assign;
  /// With `rendezvous_round::agent_dialect::gather`, the one of the node of group rank 0 counts.
  master_endpoint master;
};

/// The end of a round, and its reason.
struct rendezvous_change {
  /// Why a round ends before its workers do.
  enum class cause {
    /// A node waits to join.
    node_waiting,
    /// A node is gone.
    node_lost,
    /// Workers failed on any node.
    worker_failed,
  };

  cause kind = cause::node_waiting;
  /// A clause that names the node: "node a_71_0 waits to join".
  std::string reason = {};
  /// How often workers of the job have failed, including this time; other changes do not count.
  int restarts = 0;
  /// If this node has lost the others: the time from now within which its workers must be gone,
  /// because the others may then continue without it.
  duration grace = duration::max();
  /// worker_failed: the failure that counts is on another node, and failures of this node's
  /// workers, if any, are its consequence.
  bool on_other_node = false;
  /// node_waiting: no node waits to join, but the job has to pause: see
  /// `rendezvous_handler::pause`.
  bool is_pause = false;
  /// The workers of all nodes that accept requests have to save a checkpoint first.
  bool saves_first = false;
};

/// How nodes agree on which of them take part. Implement it to add your own; register it under a
/// name (`rendezvous_registry`) to make it available to `--rdzv-backend`.
///
/// Errors of every member that waits: `errc::rendezvous_closed` if the job failed meanwhile,
/// `errc::rendezvous_finished` if it succeeded, `errc::connection_failed`.
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT rendezvous_handler {
 public:
  /// How a job ends, for all of its nodes.
  enum class job_end { succeeded, failed };

  virtual ~rendezvous_handler() = default;

  /// The name under which it is registered, such as "c10d".
  virtual std::string backend() const = 0;

  virtual std::string run_id() const = 0;

  /// Leaves the round that this node is in, if any, and takes part in the next one. The server of
  /// the previous round's workers (its master endpoint) ends, so call this when these workers are
  /// gone.
  ///
  /// Errors: `errc::rendezvous_timeout`, `errc::rendezvous_state`, those of all members.
  /// Cancellation: all types; this node is then in no round.
  virtual task<rendezvous_round> next_round() = 0;

  /// Waits until the round has to end: a node waits to join, one was lost, or workers failed. Later
  /// calls in the same round return the first such change at once.
  ///
  /// Cancellation: all types, no effect.
  virtual task<rendezvous_change> wait_for_change() = 0;

  /// Workers of this node have failed: tells every other node of the round at once.
  ///
  /// @param reason  a clause, such as "rank 3 ended: signal SIGKILL"
  /// Result: the change that ends the round: this one, or an earlier one, if this failure counts as
  /// its consequence, which costs no restart.
  /// Cancellation: all types; the others may or may not have been told.
  virtual task<rendezvous_change> report_failure(std::string reason) = 0;

  /// The workers of this node have succeeded: waits until those of every node of the round have, so
  /// that a node that finishes early does not count as lost. Limit it with `with_deadline`, and
  /// race it against `wait_for_change`.
  ///
  /// Cancellation: all types; this node still counts as finished.
  virtual task<void> exit_barrier() = 0;

  /// Waits until the workers of this node must be gone, because the node has lost contact and the
  /// others may continue without it. The agent then kills its workers; `wait_for_change` returns
  /// earlier, so that they have some time to end.
  ///
  /// The default waits forever, for a rendezvous in which the others do not continue without a
  /// node, or that cannot detect it.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL virtual task<void> wait_for_fence();

  /// Pauses the whole job: the round ends for all of its nodes (`rendezvous_change::is_pause`), and
  /// no round begins until this node calls `resume`, or has left. Timeouts of waiting nodes do not
  /// run meanwhile, and start again afterwards.
  ///
  /// @param why  a clause for the other nodes: "paused at node7 by user 0"
  /// @param saves_first  `rendezvous_change::saves_first`
  /// Errors: `errc::invalid_argument` if this kind of rendezvous cannot pause; the default throws
  /// it.
  ELASTIC_DECL virtual void pause(std::string why, bool saves_first);

  /// Ends the pause that this node began, if any.
  virtual void resume() {}

  /// Marks this node as bad for a reason, a clause such as "GPU 3 is hot". This excludes the node
  /// from the job for the time in its parameters (`rendezvous_parameters::exclude_for`).
  /// `shutdown`, which must be called next, informs the others. The default does nothing.
  virtual void exclude_node(std::string /*why*/) {}

  /// The reason, for users, why this node cannot meet others while `next_round` runs: "the
  /// rendezvous at node0:29400 is gone (Connection refused)". Empty (the default) if the node only
  /// waits for other nodes.
  virtual std::string obstacle() const { return {}; }

  /// How many workers of the round have connected to the workers' store. Empty (the default) if
  /// this node does not serve the store, or does not know.
  virtual std::optional<std::int64_t> arrived_workers() const { return std::nullopt; }

  /// Closes the rendezvous: the job is over for every node, and nodes that start later learn that.
  /// May wait a few seconds until the nodes that inform others know it.
  /// @param why  one sentence, for the other nodes
  /// Cancellation: terminal; the job may or may not be closed.
  virtual task<void> close(job_end how, std::string why) = 0;

  /// Leaves without closing, and ends everything that this handler runs. Must be the last call.
  virtual task<void> shutdown() = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_handler.ipp>
#endif

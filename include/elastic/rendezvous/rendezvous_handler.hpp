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
  /// Where the workers of a round find each other: MASTER_ADDR, MASTER_PORT and who serves there.
  struct master_endpoint {
    std::string address;
    std::uint16_t port = 0;
    /// True: an agent serves a store there, and every worker is a client of it. False: the worker
    /// of rank 0 is expected to serve.
    bool served_by_agent = false;
  };

  /// How the agents of a round tell each other about their workers.
  enum class agent_dialect {
    /// As PyTorch's since 2.4: the node of group rank 0 gathers what all told, and assigns.
    assign,
    /// As PyTorch's before: each reads what all told, and counts for itself. Then the node of group
    /// rank 0 tells the others where the workers meet.
    gather,
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  rendezvous_round() = default;

  /// A node never gets one that is not greater than its last.
  std::int64_t round = 0;
  /// Which of the servers that the job had made the round, if one does; nodes that lost a server
  /// may have been in a round of the same number.
  std::int64_t term = 0;
  /// This node's place among the nodes of the round, 0 … group_world_size - 1.
  int group_rank = 0;
  int group_world_size = 1;
  /// How often workers of the job have failed before: what max_restarts is compared with.
  int restarts = 0;
  /// Shared by the agents of this round and of no other.
  std::shared_ptr<store> agents;
  /// How long these agents wait for each other to tell about their workers.
  duration exchange_timeout = std::chrono::seconds(300);
  agent_dialect dialect = agent_dialect::assign;
  /// With `rendezvous_round::agent_dialect::gather` that of the node of group rank 0 counts.
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
    /// Workers failed, on whichever node.
    worker_failed,
  };

  cause kind = cause::node_waiting;
  /// One half sentence that names the node: "node a_71_0 waits to join".
  std::string what;
  /// How often workers of the job have failed, this time included; the other kinds are free.
  int restarts = 0;
  /// By when the workers of this node are to be gone, counted from now, because the others may go
  /// on without it then: it has lost them.
  duration grace = duration::max();
  /// worker_failed: the failure that is charged is another node's, and one of this node's workers,
  /// if any, is its consequence.
  bool on_other_node = false;
  /// node_waiting: no node waits to join, but the job is to pause: see `rendezvous_handler::pause`.
  bool is_pause = false;
  /// The workers of all nodes are to save a checkpoint first, those that want to be asked.
  bool saves_first = false;
};

/// How nodes agree on who takes part. Implement it to bring your own; register it under a name
/// (`rendezvous_registry`) to make it available to `--rdzv-backend`.
///
/// Errors of every member that waits: `errc::rendezvous_closed` if the job failed meanwhile,
/// `errc::rendezvous_finished` if it succeeded, `errc::connection_failed`.
/// Thread-safety: one strand at a time.
class rendezvous_handler {
 public:
  /// How a job ends, for all of its nodes.
  enum class job_end { succeeded, failed };

  virtual ~rendezvous_handler() = default;

  /// The name under which it is registered, such as "c10d".
  virtual std::string backend() const = 0;

  virtual std::string run_id() const = 0;

  /// Leaves the round that this node is in, if any, and takes part in the next one. What served
  /// the workers of the round before (its master endpoint) ends: call it when they are gone.
  ///
  /// Errors: `errc::rendezvous_timeout`, `errc::rendezvous_state`, those of all members.
  /// Cancellation: all types; this node is then in no round.
  virtual task<rendezvous_round> next_round() = 0;

  /// Waits until the round is to end: a node waits to join, one was lost, or workers failed. The
  /// first such change of a round stays: a later call returns it at once.
  ///
  /// Cancellation: all types, no effect.
  virtual task<rendezvous_change> wait_for_change() = 0;

  /// Workers of this node have failed: tells every other node of the round at once.
  ///
  /// @param reason  a half sentence, such as "rank 3 ended: signal SIGKILL"
  /// Result: the change that ends the round: this one, or an earlier one, if the failure is
  /// taken for its consequence and costs no restart.
  /// Cancellation: all types; the others may or may not have been told.
  virtual task<rendezvous_change> report_failure(std::string reason) = 0;

  /// The workers of this node have succeeded: waits until those of every node of the round have,
  /// so that one that finishes early is not taken for a lost node. Bound it by `with_deadline`,
  /// and race it against `wait_for_change`.
  ///
  /// Cancellation: all types; this node stays counted as one that has finished.
  virtual task<void> exit_barrier() = 0;

  /// Waits until the workers of this node must be gone, because the others can go on without it:
  /// for longer than its last sign of life counts it could not reach them. The agent kills its
  /// workers then; `wait_for_change` ends before, so that they have some time to end.
  ///
  /// The default waits for ever: the others do not go on without a node, or it cannot know.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL virtual task<void> wait_for_fence();

  /// Lets the whole job pause: the round ends for all of its nodes (`rendezvous_change::is_pause`),
  /// and none begins until this node calls `resume`, or has left. Time in which nodes wait does not
  /// count meanwhile.
  ///
  /// @param why  half a sentence for the other nodes: "paused at node7 by user 0"
  /// @param saves_first  `rendezvous_change::saves_first`
  /// Errors: `errc::invalid_argument` if the nodes meet in a way that cannot pause, as the default
  /// says.
  ELASTIC_DECL virtual void pause(std::string why, bool saves_first);

  /// Ends the pause that this node began, if any.
  virtual void resume() {}

  /// This node was called bad: it is not to come back before the time that its parameters name
  /// (`rendezvous_parameters::exclude_for`), which the others are told by `shutdown`, to be called
  /// next. The default forgets it.
  virtual void keep_out(std::string /*why*/) {}

  /// The reason why this node cannot meet others while `next_round` runs, for people: "the
  /// rendezvous at node0:29400 is gone (Connection refused)". Empty (the default) if the node only
  /// waits for other nodes.
  virtual std::string obstacle() const { return {}; }

  /// How many workers of the round have connected to the workers' store. Empty (the default) if
  /// this node does not serve the store, or does not know.
  virtual std::optional<std::int64_t> arrived_workers() const { return std::nullopt; }

  /// Closes the rendezvous: the job is over for every node, and later nodes learn so.
  /// May wait until those that inform them know it, for a few seconds at most.
  /// @param why  one sentence, for them
  /// Cancellation: terminal; the job may be closed or not.
  virtual task<void> close(job_end how, std::string why) = 0;

  /// Leaves without closing, and ends everything that this handler runs. The last call.
  virtual task<void> shutdown() = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_handler.ipp>
#endif

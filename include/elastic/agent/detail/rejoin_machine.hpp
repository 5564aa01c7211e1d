// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// What the agent knows of one of its workers when an epoch ends.
struct survivor_facts {
  int rank = 0;
  bool runs = false;
  /// It has said `survive`.
  bool has_said = false;
  /// It has a connection on which it said that.
  bool has_channel = false;
  /// Its work has ended with success.
  bool has_finished = false;
  /// It has left the epoch.
  bool is_ready = false;
};

/// The end of an epoch on this node.
struct epoch_end {
  std::vector<survivor_facts> workers;
  /// Some workers of the job took part in the epoch without being started for it. Then a worker
  /// that has not said `survive` is one that was started for the epoch and has not got so far.
  bool had_survivors = false;
  /// The job pauses.
  bool is_pause = false;
  /// The time that workers have to leave the epoch is over.
  bool is_overdue = false;
};

struct rejoin_step {
  enum class action {
    /// Some have yet to leave the epoch.
    wait,
    /// Those that stay wait for the next epoch; meet the other nodes.
    meet,
    /// All workers of the job have to start again.
    restart_all,
  };
  action what = action::wait;
  std::string reason;
};

/// Whether a worker can keep its process. The others are started again alone.
ELASTIC_DECL bool can_stay(const survivor_facts& worker);

/// Why the workers of this node cannot stay, whatever they answer; empty: they can.
ELASTIC_DECL std::string obstacle_to(const epoch_end& end);

/// What follows on this node from the end of an epoch. Pure.
ELASTIC_DECL rejoin_step decide_rejoin(const epoch_end& end);

/// The answer to a worker that asks whether its failure is a change.
enum class ask_answer { wait, change, no_change };

/// @param round_ends    the round ends, for whatever reason
/// @param has_finished  the rank of a worker of this node that has finished, if one has
/// @param is_overdue    the worker has waited for as long as the agent may take
ELASTIC_DECL ask_answer decide_ask(bool round_ends, std::optional<int> has_finished,
                                   bool is_overdue);

/// What a node says of itself when a round is met.
struct node_epoch {
  /// It can keep workers. Nodes of torchrun, and those with another `on_failure`, do not say so.
  bool replaces = false;
  /// The last epoch in which it was, and its group rank there; -1: none.
  std::int64_t term = 0;
  std::int64_t round = -1;
  int place = -1;
  /// How many of its workers wait for the next epoch.
  int survivors = 0;
  /// Why all workers of the job have to start again; empty: this node knows of no reason. It counts
  /// if none of the nodes has had a later epoch.
  std::string obstacle;

  friend bool operator==(const node_epoch&, const node_epoch&) = default;
};

/// What the nodes of a round have in common.
struct epoch_plan {
  /// Every node can keep workers.
  bool is_possible = false;
  /// Those that wait take part without a new process.
  bool keeps_survivors = false;
  /// Why they do not; empty if there are none.
  std::string reason;
  /// The group rank of each node.
  std::vector<int> places;
};

/// Nodes that were in the last epoch keep their group ranks. One whose rank is too large for a
/// smaller world takes a rank that is free, with its whole group; the rest is for newcomers.
ELASTIC_DECL std::vector<int> keep_places(const std::vector<node_epoch>& nodes);

/// How an epoch begins. Pure: each node that knows what all have said comes to the same result.
/// @param nodes          in the order in which the rendezvous names them
/// @param may_move       false: the node that the rendezvous names first serves the workers of rank
///                       0, so that each node has the group rank that the rendezvous gave it
ELASTIC_DECL epoch_plan plan_epoch(const std::vector<node_epoch>& nodes, bool may_move);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/rejoin_machine.ipp>
#endif

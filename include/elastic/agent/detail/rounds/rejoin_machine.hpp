// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The facts that the agent knows about one of its workers when an epoch ends.
struct survivor_facts {
  int rank = 0;
  bool runs = false;
  /// It has sent `survive`.
  bool sent_survive = false;
  /// The connection on which it sent that is still open.
  bool has_channel = false;
  /// It has said that it cannot rejoin any more, and why.
  std::optional<std::string> withdrawn;
  /// It has succeeded.
  bool has_finished = false;
  /// It has left the epoch.
  bool is_ready = false;
  /// Its time to leave the epoch is over.
  bool is_overdue = false;
};

/// The end of an epoch on this node.
struct epoch_end {
  std::vector<survivor_facts> workers;
  /// Some workers of the job took part in the epoch without being started for it. A worker that has
  /// not sent `survive` was then started for the epoch and has not come that far.
  bool had_survivors = false;
  /// The job pauses.
  bool is_pause = false;
};

/// The number of time-outs that a worker has to leave its epoch if it has not asked whether the
/// epoch has ended. It may be busy with its own work, such as an evaluation or a checkpoint, or
/// wait for data.
inline constexpr int rejoin_patience = 6;

/// The time by which a worker must leave an epoch.
/// @param asked_at  the time at which it asked whether the epoch has ended: it was then in an
///                  operation with other workers, or had left one with an error; none: it may be
///                  doing anything
ELASTIC_DECL time_point rejoin_deadline(time_point epoch_end, std::optional<time_point> asked_at,
                                        duration timeout);

struct rejoin_step {
  enum class action {
    /// Some workers still have to leave the epoch.
    wait,
    /// The workers that stay wait for the next epoch: meet the other nodes.
    meet,
    /// All workers of the job must restart.
    restart_all,
  };
  action what = action::wait;
  std::string reason;
};

/// Whether a worker can keep its process. Only workers that cannot are restarted.
ELASTIC_DECL bool can_stay(const survivor_facts& worker);

/// The reason why the workers of this node cannot stay, whatever they answer; empty if they can.
ELASTIC_DECL std::string obstacle_to(const epoch_end& end);

/// Decides what this node does when an epoch ends. Pure.
ELASTIC_DECL rejoin_step decide_rejoin(const epoch_end& end);

/// The answer to a worker that asks whether its failure is due to the end of the epoch.
enum class ask_answer { wait, change, no_change };

/// @param round_ends    the round ends, for whatever reason
/// @param has_finished  the rank of a worker of this node that has succeeded, if any
/// @param is_overdue    the worker has waited as long as the agent may take to answer
ELASTIC_DECL ask_answer decide_ask(bool round_ends, std::optional<int> has_finished,
                                   bool is_overdue);

/// A node's announcement about itself in a new round.
struct node_epoch {
  /// It can keep workers. Nodes of torchrun and nodes with another `on_failure` do not set this.
  bool replaces = false;
  /// The last epoch that it took part in, and its group rank there; -1: none.
  std::int64_t term = 0;
  std::int64_t round = -1;
  int place = -1;
  /// How many of its workers wait for the next epoch.
  int survivors = 0;
  /// The reason why all workers of the job must restart; empty: this node knows none. It counts
  /// only if no node took part in a later epoch.
  std::string obstacle;

  friend bool operator==(const node_epoch&, const node_epoch&) = default;
};

/// The plan by which the nodes of a round begin an epoch.
struct epoch_plan {
  /// Every node can keep workers.
  bool is_possible = false;
  /// Waiting workers take part with their present processes.
  bool keeps_survivors = false;
  /// The reason why they do not; empty if no worker waits.
  std::string reason;
  /// The group rank of each node.
  std::vector<int> places;
};

/// Assigns group ranks. Nodes of the last epoch keep theirs. If a node's rank is too large for a
/// smaller world, the node moves to a free rank with all its workers; newcomers get the remaining
/// ranks.
ELASTIC_DECL std::vector<int> keep_places(const std::vector<node_epoch>& nodes);

/// Plans how an epoch begins. Pure: all nodes compute the same plan from the same announcements.
/// @param nodes     in the order of the rendezvous
/// @param may_move  false: the first node of the rendezvous serves the store for the workers, so
///                  each node must keep the group rank that the rendezvous gave it
ELASTIC_DECL epoch_plan plan_epoch(const std::vector<node_epoch>& nodes, bool may_move);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/rejoin_machine.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// How much the node that serves a job's rendezvous wants to know about the others.
enum class report_demand { nothing, changes, progress };
inline constexpr std::array<std::string_view, 3> report_demand_names{"nothing", "changes",
                                                                     "progress"};

/// What a node is to the server of the rendezvous.
enum class node_presence {
  /// Connected, and in no round.
  meeting,
  /// It waits for the next round, or for others to come to this one.
  waiting,
  /// It waits for a place.
  standing_by,
  /// In the round that runs.
  active,
  /// It is gone without having left, and no other one has come for it.
  lost,
};
inline constexpr std::array<std::string_view, 5> node_presence_names{
    "meeting", "waiting", "standing by", "active", "lost"};

constexpr std::string_view to_string(node_presence presence) {
  return node_presence_names[static_cast<std::size_t>(presence)];
}

/// The nodes of a job as the server of its rendezvous knows them.
struct job_roster {
  struct entry {
    /// Tells it from every other node that the server has known.
    std::int64_t key = 0;
    std::string host;
    /// The host, and what tells agents there apart: "node7_4711_0".
    std::string name;
    node_presence presence = node_presence::meeting;
    /// Its place in the round; -1: none.
    int group_rank = -1;

    friend bool operator==(const entry&, const entry&) = default;
  };

  std::int64_t round = 0;
  /// The round has its nodes.
  bool is_complete = false;
  int min_nodes = 1;
  int max_nodes = 1;
  /// How many nodes are active, wait or stand by, and are lost: also those for which `nodes` has no
  /// room.
  int active = 0;
  int waiting = 0;
  int lost = 0;
  /// Up to `limits::viewed_nodes`.
  std::vector<entry> nodes = {};
};

/// What the nodes of a job tell the one that serves its rendezvous, for those who look at the job
/// there. A rendezvous that has a connection for it carries it; what is in it is not its affair.
///
/// Thread-safety: any thread. What is called back must not throw or call the exchange.
class report_exchange {
 public:
  virtual ~report_exchange() = default;

  // ---- of each node -----------------------------------------------------------------------------

  /// The server wants to hear that much from now on. `nothing` also if there is no connection: what
  /// follows it is told from the beginning.
  virtual void demanded(report_demand demand) = 0;

  /// The next thing to be sent, up to `limits::node_report_bytes`; empty: nothing for now.
  virtual std::string next_report() = 0;

  /// Calls this when there may be something to be sent. Empty: nobody is called any more.
  virtual void on_report(std::function<void()> call) = 0;

  // ---- of the node that serves ------------------------------------------------------------------

  /// @param server     who takes reports and the roster from now on
  /// @param on_demand  called when `demand` has changed
  virtual void begin_serving(const void* server, std::function<void()> on_demand) = 0;

  /// No effect if another server has begun meanwhile.
  virtual void end_serving(const void* server) = 0;

  virtual report_demand demand() const = 0;

  /// What a node has sent. @param node  its key in the roster
  virtual void reported(std::int64_t node, std::string_view report) = 0;

  virtual void listed(job_roster roster) = 0;
};

}  // namespace elastic::detail

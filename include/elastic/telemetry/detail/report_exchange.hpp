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

/// How much the node that serves a job's rendezvous wants to know about the other nodes.
enum class report_demand { nothing, changes, progress };
inline constexpr std::array<std::string_view, 3> report_demand_names{"nothing", "changes",
                                                                     "progress"};

/// The state of a node from the point of view of the rendezvous server.
enum class node_presence {
  /// Connected, and in no round.
  meeting,
  /// Waits for the next round, or for more nodes in this one.
  waiting,
  /// Waits for a place.
  standing_by,
  /// In the running round.
  active,
  /// Gone without having left, and not replaced by another node.
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
    /// Distinguishes it from all other nodes that the server has known.
    std::int64_t key = 0;
    std::string host;
    /// The host, and what distinguishes the agents on it: "node7_4711_0".
    std::string name;
    node_presence presence = node_presence::meeting;
    /// Its rank in the round; -1: none.
    int group_rank = -1;

    friend bool operator==(const entry&, const entry&) = default;
  };

  std::int64_t round = 0;
  /// The round has its nodes.
  bool is_complete = false;
  int min_nodes = 1;
  int max_nodes = 1;
  /// How many nodes are active, how many wait or stand by, and how many are lost, including those
  /// for which `nodes` has no room.
  int active = 0;
  int waiting = 0;
  int lost = 0;
  /// At most `limits::viewed_nodes` of them.
  std::vector<entry> nodes = {};
};

/// Carries reports from the nodes of a job to the node that serves its rendezvous, for viewers of
/// the job there. A rendezvous that has connections for this transports the reports, and does not
/// interpret them.
///
/// Thread-safety: any thread. Callbacks must not throw, and must not call the exchange.
class report_exchange {
 public:
  virtual ~report_exchange() = default;

  // ---- on each node -----------------------------------------------------------------------------

  /// The server wants this much from now on. It is `nothing` also if there is no connection; after
  /// that, the reports start from the beginning.
  virtual void demanded(report_demand demand) = 0;

  /// The server wants this output of workers, too, as a text of `output_demand`; empty: none.
  virtual void demanded_output(std::string_view /*text*/) {}

  /// The next report to send, up to `limits::node_report_bytes`; empty: none for now.
  virtual std::string next_report() = 0;

  /// Sets the function to call when there may be a report to send; empty: none is called any more.
  virtual void on_report(std::function<void()> call) = 0;

  // ---- on the node that serves ------------------------------------------------------------------

  /// @param server     the receiver of reports and of the roster from now on
  /// @param on_demand  called when `demand` has changed
  virtual void begin_serving(const void* server, std::function<void()> on_demand) = 0;

  /// No effect if another server has begun meanwhile.
  virtual void end_serving(const void* server) = 0;

  virtual report_demand demand() const = 0;

  /// The output of workers that somebody reads, up to `limits::output_demand_bytes`; empty: nobody
  /// does.
  virtual std::string output_demand() const { return {}; }

  /// A node has sent a report. @param node  its key in the roster
  virtual void reported(std::int64_t node, std::string_view report) = 0;

  virtual void listed(job_roster roster) = 0;
};

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/viewed_worker.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace elastic::detail {

struct node_report;

/// The news in a node's report.
struct job_news {
  /// The report is this node's own.
  bool is_own = false;
  /// More than steps.
  bool has_changed = false;
  bool has_steps = false;
  /// The events that are worth a record in this node's journal.
  std::vector<job_event> events = {};
};

/// A node of the job, as the server of the rendezvous knows it and as it tells of itself.
struct viewed_node {
  job_roster::entry entry = {};
  /// The time since which its state has been this, as far as was seen.
  std::int64_t since_us = 0;
  /// The node is this one.
  bool is_own = false;
  /// The epoch of its journal; 0: it has told nothing.
  std::int64_t epoch = 0;
  agent_activity activity = agent_activity::starting;
  std::string reason = {};
  std::int64_t round = -1;
  std::int64_t base_rank = 0;
  /// Its workers by local rank; empty if it is lost, is this node, or if there is no room.
  std::vector<viewed_worker> workers = {};

  /// The number of its events within a second.
  std::int64_t second = 0;
  int reports = 0;
  int events = 0;
};

/// The nodes of a job, on the one that serves its rendezvous: made of the server's roster and of
/// what nodes report. A plain value without clocks; bounded, whatever it is told.
///
/// Thread-safety: one thread at a time.
class viewed_job {
 public:
  /// Whether this node serves the rendezvous; if not, nothing else is known.
  bool is_known() const { return is_known_; }

  /// Takes who is there. Of nodes that were known before, what they have told stays.
  ELASTIC_DECL void take(const job_roster& roster, std::int64_t now_us);

  /// Takes what a node tells. One that tells too much, or that is lost, is passed over.
  /// @param own_epoch  that of this node's journal, by which its own reports are known
  ELASTIC_DECL job_news take(std::int64_t key, const node_report& report, std::int64_t own_epoch,
                             std::int64_t now_us);

  /// This node serves no longer.
  void forget() { *this = viewed_job(); }

  std::int64_t round() const { return roster_.round; }
  bool is_complete() const { return roster_.is_complete; }
  int min_nodes() const { return roster_.min_nodes; }
  int max_nodes() const { return roster_.max_nodes; }
  int active() const { return roster_.active; }
  int waiting() const { return roster_.waiting; }
  int lost() const { return roster_.lost; }

  /// The nodes in the order of the roster.
  const std::vector<viewed_node>& nodes() const { return nodes_; }

 private:
  ELASTIC_DECL void take_workers(viewed_node& node, const node_report& report, std::int64_t now_us,
                                 job_news& news);

  bool is_known_ = false;
  /// The roster without its nodes.
  job_roster roster_;
  std::vector<viewed_node> nodes_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/viewed_job.ipp>
#endif

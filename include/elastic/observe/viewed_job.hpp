// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/report_exchange.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// What an agent is at.
enum class agent_activity {
  starting,
  meeting,
  running,
  stopping,
  restarting,
  finishing,
  succeeded,
  failed,
  stopped,
};
inline constexpr std::array<std::string_view, 9> agent_activity_names{
    "starting",     "rendezvous", "running", "stopping", "restarting",
    "exit_barrier", "succeeded",  "failed",  "stopped"};

constexpr std::string_view to_string(agent_activity activity) {
  return agent_activity_names[static_cast<std::size_t>(activity)];
}

namespace detail {

/// The time between two times of day, in seconds; a clock that was set makes it no less than 0.
constexpr double seconds_between(std::int64_t from_us, std::int64_t to_us) {
  const double span = (static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6;
  return span > 0 ? span : 0;
}

}  // namespace detail

/// A worker in the last attempt of its node.
struct viewed_worker {
  enum class condition { waiting, running, succeeded, failed, hung, stopped };

  std::int64_t rank = -1;
  std::int64_t local_rank = 0;
  std::int64_t pid = 0;
  condition state = condition::waiting;
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  /// Why it ended, as far as somebody said so. Text of the worker's, which may be hostile.
  std::string reason = {};
  std::int64_t ended_us = 0;
  /// The last step that it reported, of how many (0: not known), and when; -1: none.
  std::int64_t step = -1;
  std::int64_t total = 0;
  std::int64_t progress_us = 0;
  /// When it first reported that step.
  std::int64_t step_us = 0;
  /// Text of the worker's.
  std::string text = {};
  /// What a step takes it, smoothed; 0: not known.
  double step_seconds = 0;
};
inline constexpr std::array<std::string_view, 6> worker_condition_names{
    "waiting", "running", "succeeded", "failed", "hung", "stopped"};

namespace detail {
struct node_report;
}  // namespace detail

/// A node of the job, as the server of the rendezvous knows it and as it tells of itself.
struct viewed_node {
  job_roster::entry entry = {};
  /// When it became what it is to the server, as far as was seen.
  std::int64_t since_us = 0;
  /// It is this one.
  bool is_own = false;
  /// The epoch of its journal; 0: it has told nothing.
  std::int64_t epoch = 0;
  agent_activity activity = agent_activity::starting;
  std::string reason = {};
  std::int64_t round = -1;
  std::int64_t base_rank = 0;
  /// By local rank. None of a node that is lost or is this one, and none if there is no room.
  std::vector<viewed_worker> workers = {};

  /// What it has told within a second.
  std::int64_t second = 0;
  int reports = 0;
  int events = 0;
};

/// What is new by a node's report.
struct job_news {
  /// It is this node's own.
  bool is_own = false;
  /// More than steps.
  bool has_changed = false;
  bool has_steps = false;
  /// What is worth a record in this node's journal.
  std::vector<job_event> events = {};
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
  ELASTIC_DECL job_news take(std::int64_t key, const detail::node_report& report,
                             std::int64_t own_epoch, std::int64_t now_us);

  /// This node serves no longer.
  void forget() { *this = viewed_job(); }

  std::int64_t round() const { return roster_.round; }
  bool is_complete() const { return roster_.is_complete; }
  int min_nodes() const { return roster_.min_nodes; }
  int max_nodes() const { return roster_.max_nodes; }
  int active() const { return roster_.active; }
  int waiting() const { return roster_.waiting; }
  int lost() const { return roster_.lost; }

  /// In the order of the roster.
  const std::vector<viewed_node>& nodes() const { return nodes_; }

 private:
  ELASTIC_DECL void take_workers(viewed_node& node, const detail::node_report& report,
                                 std::int64_t now_us, job_news& news);

  bool is_known_ = false;
  /// Without its nodes.
  job_roster roster_;
  std::vector<viewed_node> nodes_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/observe/impl/viewed_job.ipp>
#endif

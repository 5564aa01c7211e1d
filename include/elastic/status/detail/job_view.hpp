// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_state.hpp>
#include <elastic/status/detail/viewed_job.hpp>
#include <elastic/status/detail/viewed_worker.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// How far workers are.
struct viewed_progress {
  /// The furthest behind; null: none reports steps.
  const viewed_worker* slowest = nullptr;
  /// The slowest of those that say something; workers of other nodes tell no text.
  const viewed_worker* speaker = nullptr;
  /// The median of what a step takes those that run; 0: not known.
  double median_seconds = 0;

  /// How long the job still takes, if its workers say how many steps there are.
  ELASTIC_DECL std::optional<double> seconds_left() const;
};

/// What the viewers of a job see of it on one node: its state, what the workers report, and, if
/// the node serves the rendezvous, the other nodes. Documents, metrics and the page are functions
/// of it. A plain value without clocks; bounded, whatever it is told.
///
/// Thread-safety: one thread at a time.
class job_view {
 public:
  job_view() = default;
  explicit job_view(job_state job) : job_(std::move(job)) { show_workers(); }

  /// Takes the next record, as `job_state::take` does.
  ELASTIC_DECL void take(const journal_record& record);

  /// Takes what a worker of this node reports.
  ELASTIC_DECL void take(const worker_progress& progress, std::int64_t now_us);

  /// What the journal tells.
  const job_state& job() const { return job_; }

  /// What the server of the rendezvous knows of the job, if this node has it.
  viewed_job& whole() { return whole_; }
  const viewed_job& whole() const { return whole_; }
  /// Whether another node shows the job as a whole.
  bool is_shown_elsewhere() const { return is_shown_elsewhere_; }
  void shown_elsewhere(bool is_shown) { is_shown_elsewhere_ = is_shown; }

  /// Those of the state, with what they report; by local rank.
  const std::vector<viewed_worker>& workers() const { return workers_; }

  /// What the time was used for up to `now_us`, in seconds. The step that workers are making
  /// belongs to nothing until they report it.
  ELASTIC_DECL double seconds(time_use use, std::int64_t now_us) const;
  /// The part of the time that was productive, from 0 to 1; empty before anything was done.
  ELASTIC_DECL std::optional<double> goodput(std::int64_t now_us) const;

  /// How far the workers of this node are, and how far all that are known here. Valid until the
  /// view is told something.
  ELASTIC_DECL viewed_progress progress() const;
  ELASTIC_DECL viewed_progress whole_progress() const;

 private:
  ELASTIC_DECL void show_workers();
  ELASTIC_DECL double unfinished_seconds(std::int64_t now_us) const;

  job_state job_;
  std::vector<viewed_worker> workers_;
  /// The furthest step of the attempt, as workers told this view, and when; -1: they told none.
  std::int64_t step_ = -1;
  std::int64_t stepped_us_ = 0;
  viewed_job whole_;
  bool is_shown_elsewhere_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/impl/job_view.ipp>
#endif

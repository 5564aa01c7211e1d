// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_state.hpp>
#include <elastic/status/detail/viewed_job.hpp>
#include <elastic/status/detail/viewed_worker.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The progress of workers.
struct viewed_progress {
  /// The furthest behind; null: none reports steps.
  const viewed_worker* slowest = nullptr;
  /// The slowest of those that say something; workers of other nodes tell no text.
  const viewed_worker* speaker = nullptr;
  /// The median duration of a step of the running workers, in seconds; 0 if it is not known.
  double median_seconds = 0;

  /// The time that the job still takes, if its workers report the number of all steps.
  std::optional<double> seconds_left() const;
};

/// The view of a job on one node: its state, the reports of workers, and, if
/// the node serves the rendezvous, the other nodes. Documents, metrics and the page are functions
/// of it. A plain value without clocks; bounded, whatever it is told.
///
/// Thread-safety: one thread at a time.
class job_view {
 public:
  job_view() = default;
  explicit job_view(job_state job) : job_(std::move(job)) { show_workers(); }

  /// Takes the next record, as `job_state::take` does.
  void take(const journal_record& record);

  /// Takes what a worker of this node reports.
  void take(const worker_progress& progress, std::int64_t now_us);

  /// Takes what the worker of a local rank uses.
  void take(std::size_t place, const worker_usage& usage) {
    if (place < workers_.size()) workers_[place].usage = usage;
  }

  /// The state according to the journal.
  const job_state& job() const { return job_; }

  /// The whole job as the server of the rendezvous knows it, if this node has the server.
  viewed_job& whole() { return whole_; }
  const viewed_job& whole() const { return whole_; }
  /// Whether another node shows the job as a whole.
  bool is_shown_elsewhere() const { return is_shown_elsewhere_; }
  void shown_elsewhere(bool is_shown) { is_shown_elsewhere_ = is_shown; }

  /// The workers of the state, with their reports, by local rank.
  const std::vector<viewed_worker>& workers() const { return workers_; }
  /// The worker of a local rank; null: there is none.
  const viewed_worker* worker(int local_rank) const {
    const auto place = static_cast<std::size_t>(local_rank);
    return local_rank >= 0 && place < workers_.size() ? &workers_[place] : nullptr;
  }

  /// The seconds of one use of time up to `now_us`. The step that workers are making
  /// belongs to nothing until they report it.
  double seconds(time_use use, std::int64_t now_us) const;
  /// The part of the time that was productive, from 0 to 1; empty before anything was done.
  std::optional<double> goodput(std::int64_t now_us) const;

  /// The progress of this node's workers, and of all that are known here. Valid until the
  /// view is told something.
  viewed_progress progress() const;
  viewed_progress whole_progress() const;

 private:
  void show_workers();
  double unfinished_seconds(std::int64_t now_us) const;

  job_state job_;
  std::vector<viewed_worker> workers_;
  /// The furthest step of the attempt, as workers told this view, and when; -1: they told none.
  std::int64_t step_ = -1;
  std::int64_t stepped_us_ = 0;
  viewed_job whole_;
  bool is_shown_elsewhere_ = false;
};

inline void job_view::take(const journal_record& record) {
  const bool begins_run = record.epoch != job_.epoch();
  if (!job_.take(record)) return;
  if (begins_run) workers_.clear();
  if (begins_run || record.event.kind == job_event::type::workers_started) step_ = -1;
  show_workers();
}

/// Copies the workers of the state. A worker that is new in its place has not reported anything.
inline void job_view::show_workers() {
  workers_.resize(job_.workers().size());
  for (std::size_t place = 0; place < workers_.size(); ++place) {
    const job_worker& worker = job_.workers()[place];
    if (workers_[place].changed == worker.changed) continue;
    if (workers_[place].placed != worker.placed) workers_[place] = {};
    static_cast<job_worker&>(workers_[place]) = worker;
  }
}

/// The time spent on a step that may still be lost. Otherwise productive time would
/// be taken back, which a counter must never do.
inline double job_view::unfinished_seconds(std::int64_t now_us) const {
  if (!job_.has_steps() || step_ < 0) return 0;
  const auto [from_us, to_us] = job_.revocable(now_us);
  return seconds_between(std::max(stepped_us_, from_us), to_us);
}

inline double job_view::seconds(time_use use, std::int64_t now_us) const {
  const double sum = job_.seconds(use, now_us);
  return use == time_use::training ? sum - unfinished_seconds(now_us) : sum;
}

inline std::optional<double> job_view::goodput(std::int64_t now_us) const {
  const double whole = job_.all_seconds(now_us) - unfinished_seconds(now_us);
  if (whole <= 0) return std::nullopt;
  return seconds(time_use::training, now_us) / whole;
}

inline void job_view::take(const worker_progress& progress, std::int64_t now_us) {
  const auto place = static_cast<std::size_t>(progress.local_rank);
  if (progress.local_rank < 0 || place >= workers_.size()) return;
  if (progress.step > step_) {
    step_ = progress.step;
    stepped_us_ = now_us;
  }
  viewed_worker& worker = workers_[place];
  const double steps = static_cast<double>(progress.step) - static_cast<double>(worker.step);
  if (worker.step >= 0 && steps > 0) {
    constexpr double weight = 0.3;
    const double each = seconds_between(worker.step_us, now_us) / steps;
    const bool is_first = worker.step_seconds <= 0;
    worker.step_seconds = is_first ? each : weight * each + (1 - weight) * worker.step_seconds;
  }
  if (progress.step != worker.step) worker.step_us = now_us;
  worker.step = progress.step;
  worker.total = progress.total;
  worker.progress_us = now_us;
  worker.text = progress.text;
}

/// Takes in workers, and what their steps take.
inline void add_workers(viewed_progress& progress, const std::vector<viewed_worker>& workers,
                        std::vector<double>& spans) {
  for (const viewed_worker& worker : workers) {
    const bool runs = worker.state == job_worker::condition::running;
    if (runs && worker.step_seconds > 0) spans.push_back(worker.step_seconds);
    if (worker.step < 0) continue;
    const auto is_behind = [&](const viewed_worker* other) {
      return !other || worker.step < other->step;
    };
    if (is_behind(progress.slowest)) progress.slowest = &worker;
    if (!worker.text.empty() && is_behind(progress.speaker)) progress.speaker = &worker;
  }
  if (spans.empty()) return;
  const auto middle = spans.begin() + static_cast<std::ptrdiff_t>(spans.size() / 2);
  std::nth_element(spans.begin(), middle, spans.end());
  progress.median_seconds = *middle;
}

inline std::optional<double> viewed_progress::seconds_left() const {
  if (!slowest || median_seconds <= 0 || slowest->total <= slowest->step) return std::nullopt;
  const double steps = static_cast<double>(slowest->total) - static_cast<double>(slowest->step);
  return median_seconds * steps;
}

inline viewed_progress job_view::progress() const {
  viewed_progress progress;
  std::vector<double> spans;
  add_workers(progress, workers_, spans);
  return progress;
}

inline viewed_progress job_view::whole_progress() const {
  viewed_progress progress;
  std::vector<double> spans;
  add_workers(progress, workers_, spans);
  for (const viewed_node& node : whole_.nodes()) {
    if (node.entry.presence == node_presence::active) add_workers(progress, node.workers, spans);
  }
  return progress;
}

}  // namespace elastic::detail

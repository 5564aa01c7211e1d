// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_view.hpp>

#include <algorithm>
#include <cstddef>

namespace elastic::detail {

ELASTIC_DECL void job_view::take(const journal_record& record) {
  const bool begins_run = record.epoch != job_.epoch();
  if (!job_.take(record)) return;
  if (begins_run) workers_.clear();
  if (begins_run || record.event.kind == job_event::type::workers_started) step_ = -1;
  show_workers();
}

/// Whoever is new in a place has reported nothing.
ELASTIC_DECL void job_view::show_workers() {
  workers_.resize(job_.workers().size());
  for (std::size_t place = 0; place < workers_.size(); ++place) {
    const job_worker& worker = job_.workers()[place];
    if (workers_[place].changed == worker.changed) continue;
    if (workers_[place].placed != worker.placed) workers_[place] = {};
    static_cast<job_worker&>(workers_[place]) = worker;
  }
}

/// How long workers have been at a step that may still be lost. Without it, productive time would
/// be taken back, which a counter must never do.
ELASTIC_DECL double job_view::unfinished_seconds(std::int64_t now_us) const {
  if (!job_.has_steps() || step_ < 0) return 0;
  const auto [from_us, to_us] = job_.revocable(now_us);
  return seconds_between(std::max(stepped_us_, from_us), to_us);
}

ELASTIC_DECL double job_view::seconds(time_use use, std::int64_t now_us) const {
  const double sum = job_.seconds(use, now_us);
  return use == time_use::training ? sum - unfinished_seconds(now_us) : sum;
}

ELASTIC_DECL std::optional<double> job_view::goodput(std::int64_t now_us) const {
  const double whole = job_.all_seconds(now_us) - unfinished_seconds(now_us);
  if (whole <= 0) return std::nullopt;
  return seconds(time_use::training, now_us) / whole;
}

ELASTIC_DECL void job_view::take(const worker_progress& progress,
                                 std::int64_t now_us) {
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

ELASTIC_DECL std::optional<double> viewed_progress::seconds_left() const {
  if (!slowest || median_seconds <= 0 || slowest->total <= slowest->step) return std::nullopt;
  const double steps = static_cast<double>(slowest->total) - static_cast<double>(slowest->step);
  return median_seconds * steps;
}

ELASTIC_DECL viewed_progress job_view::progress() const {
  viewed_progress progress;
  std::vector<double> spans;
  add_workers(progress, workers_, spans);
  return progress;
}

ELASTIC_DECL viewed_progress job_view::whole_progress() const {
  viewed_progress progress;
  std::vector<double> spans;
  add_workers(progress, workers_, spans);
  for (const viewed_node& node : whole_.nodes()) {
    if (node.entry.presence == node_presence::active) add_workers(progress, node.workers, spans);
  }
  return progress;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/job_monitor.hpp>

#include <chrono>
#include <utility>

namespace elastic {

ELASTIC_DECL job_monitor::job_monitor(std::shared_ptr<time_source> time,
                                      std::shared_ptr<worker_observer> next)
    : time_(std::move(time)), next_(std::move(next)) {
  if (!time_) time_ = std::make_shared<system_time>();
}

ELASTIC_DECL job_view job_monitor::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

ELASTIC_DECL std::int64_t job_monitor::progress_us() const {
  const std::lock_guard lock(mutex_);
  return progress_us_;
}

ELASTIC_DECL std::int64_t job_monitor::now_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(time_->wall_now().time_since_epoch())
      .count();
}

ELASTIC_DECL void job_monitor::on_change(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(call);
}

ELASTIC_DECL void job_monitor::take(const journal_record& record) {
  const std::lock_guard lock(mutex_);
  view_.take(record);
  if (on_change_) on_change_();
}

ELASTIC_DECL void job_monitor::started(const started_workers& job) {
  if (next_) next_->started(job);
}

ELASTIC_DECL void job_monitor::progress(const worker_progress& made) {
  if (next_) next_->progress(made);
  constexpr std::int64_t pause_us = 1'000'000;
  const std::int64_t now = now_us();
  const std::lock_guard lock(mutex_);
  view_.take(made, now);
  progress_us_ = now;
  // A clock that was set back is no reason to be silent.
  if (now >= called_us_ && now - called_us_ < pause_us) return;
  called_us_ = now;
  if (on_change_) on_change_();
}

ELASTIC_DECL void job_monitor::hung(const hung_worker& worker) {
  if (next_) next_->hung(worker);
}

}  // namespace elastic

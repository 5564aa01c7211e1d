// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_watch.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL role_watch::role_watch(elastic::role::readiness readiness, int workers,
                                    std::shared_ptr<worker_observer> next,
                                    std::function<void()> on_ready)
    : readiness_(readiness),
      workers_(static_cast<std::size_t>(workers)),
      next_(std::move(next)),
      on_ready_(std::move(on_ready)) {}

ELASTIC_DECL void role_watch::started(const started_workers& start) {
  // Workers that kept their processes have reported before.
  if (start.stayed == 0) reported_.clear();
  if (readiness_ == elastic::role::readiness::start) on_ready_();
  if (next_) next_->started(start);
}

ELASTIC_DECL void role_watch::progress(const worker_progress& progress) {
  const bool is_first = reported_.insert(progress.local_rank).second;
  const bool is_last = is_first && reported_.size() == workers_;
  if (is_last && readiness_ == elastic::role::readiness::progress) on_ready_();
  if (next_) next_->progress(progress);
}

ELASTIC_DECL void role_watch::hung(const hung_worker& worker) {
  if (next_) next_->hung(worker);
}

}  // namespace elastic::detail

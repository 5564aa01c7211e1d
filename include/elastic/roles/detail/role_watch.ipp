// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_watch.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL role_watch::role_watch(elastic::role::readiness readiness, int workers,
                                    std::function<void()> on_ready)
    : readiness_(readiness),
      workers_(static_cast<std::size_t>(workers)),
      on_ready_(std::move(on_ready)) {}

ELASTIC_DECL void role_watch::started(const started_workers& start) {
  // Workers that kept their processes have reported before.
  if (start.stayed == 0) reported_.clear();
  if (readiness_ == elastic::role::readiness::start) on_ready_();
}

ELASTIC_DECL void role_watch::progressed(const worker_progress& made) {
  const bool is_first = reported_.insert(made.local_rank).second;
  const bool is_last = is_first && reported_.size() == workers_;
  if (is_last && readiness_ == elastic::role::readiness::progress) on_ready_();
}

}  // namespace elastic::detail

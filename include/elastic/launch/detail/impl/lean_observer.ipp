// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/lean_observer.hpp>

#include <elastic/launch/detail/code_pages.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL lean_observer::lean_observer(std::shared_ptr<worker_observer> next)
    : next_(std::move(next)) {}

ELASTIC_DECL void lean_observer::started(const started_workers& job) {
  if (next_) next_->started(job);
  if (std::exchange(is_lean_, true)) return;
  release_code_pages();
}

ELASTIC_DECL void lean_observer::progress(const worker_progress& made) {
  if (next_) next_->progress(made);
}

ELASTIC_DECL void lean_observer::hung(const hung_worker& worker) {
  if (next_) next_->hung(worker);
}

}  // namespace elastic::detail

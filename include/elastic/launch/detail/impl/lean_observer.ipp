// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/lean_observer.hpp>

#include <chrono>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL lean_observer::lean_observer(asio::any_io_executor strand,
                                          std::shared_ptr<time_source> time,
                                          std::shared_ptr<worker_observer> next, void (*release)())
    : has_started_(std::move(strand)),
      time_(std::move(time)),
      next_(std::move(next)),
      release_(release) {}

ELASTIC_DECL task<void> lean_observer::run() {
  co_await has_started_.wait();
  co_await time_->sleep_until(deadline_after(time_->now(), std::chrono::seconds(1)));
  release_();
  co_await time_->sleep_until(time_point::max());
}

ELASTIC_DECL void lean_observer::started(const started_workers& job) {
  if (next_) next_->started(job);
  has_started_.set();
}

ELASTIC_DECL void lean_observer::progress(const worker_progress& made) {
  if (next_) next_->progress(made);
}

ELASTIC_DECL void lean_observer::hung(const hung_worker& worker) {
  if (next_) next_->hung(worker);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/lean_observer.hpp>

#include <chrono>
#include <utility>

namespace elasticrun {

lean_observer::lean_observer(asio::any_io_executor strand,
                             std::shared_ptr<elastic::time_source> time,
                             std::shared_ptr<elastic::worker_observer> next, void (*release)())
    : has_started_(std::move(strand)),
      time_(std::move(time)),
      next_(std::move(next)),
      release_(release) {}

elastic::task<void> lean_observer::run() {
  co_await has_started_.wait();
  co_await time_->sleep_until(elastic::deadline_after(time_->now(), std::chrono::seconds(1)));
  release_();
  co_await time_->sleep_until(elastic::time_point::max());
}

void lean_observer::started(const elastic::worker_observer::started_workers& job) {
  if (next_) next_->started(job);
  has_started_.set();
}

void lean_observer::progress(const elastic::worker_observer::worker_progress& made) {
  if (next_) next_->progress(made);
}

void lean_observer::hung(const elastic::worker_observer::hung_worker& worker) {
  if (next_) next_->hung(worker);
}

}  // namespace elasticrun

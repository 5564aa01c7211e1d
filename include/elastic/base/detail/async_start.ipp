// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/async_start.hpp>

#include <elastic/base/detail/asio_tasks.hpp>

namespace elastic::detail {

ELASTIC_DECL cancel_function task_cancellation::canceller() {
  return [self = shared_from_this()](asio::cancellation_type requested) {
    const std::lock_guard lock(self->mutex_);
    // The executor may be gone with its context.
    if (self->has_ended_) return;
    self->requests_.push_back(requested);
    post_work(self->executor_, [self] {
      if (self->has_begun_) self->pass_on();
    });
  };
}

ELASTIC_DECL void task_cancellation::begin() {
  has_begun_ = true;
  pass_on();
}

ELASTIC_DECL void task_cancellation::pass_on() {
  std::deque<asio::cancellation_type> requests;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(requests_);
  }
  for (const asio::cancellation_type each : requests) signal_.emit(each);
}

ELASTIC_DECL void task_cancellation::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  requests_.clear();
}

/// The part of a cancellation that belongs to the task's frame, and ends it with that.
class cancellation_owner {
 public:
  explicit cancellation_owner(shared_cancellation owned) : owned_(std::move(owned)) {}
  cancellation_owner(cancellation_owner&&) noexcept = default;
  cancellation_owner& operator=(cancellation_owner&&) = delete;
  ~cancellation_owner() {
    if (owned_) owned_->end();
  }

  void begin() { owned_->begin(); }

 private:
  shared_cancellation owned_;
};

inline task<void> run_cancellable(cancellation_owner cancellation, task<void> work) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  cancellation.begin();
  // Throws if the cancellation came before.
  co_await std::move(work);
}

ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<void> work,
                            end_handler on_end, shared_cancellation cancellation) {
  if (!cancellation) return start_task(executor, std::move(work), std::move(on_end));
  const asio::cancellation_slot slot = cancellation->slot();
  cancellation_owner owner(std::move(cancellation));
  start_task(executor, run_cancellable(std::move(owner), std::move(work)), std::move(on_end),
             slot);
}

ELASTIC_DECL asio::any_io_executor keep_running(asio::any_io_executor executor) {
  return asio::prefer(std::move(executor), asio::execution::outstanding_work.tracked);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task_group.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/event_flag.hpp>

#include <exception>
#include <list>
#include <utility>
#include <vector>

namespace elastic {

// Shared with the tasks' completion handlers, which may outlive the group.
struct task_group::state : std::enable_shared_from_this<state> {
  using signal = asio::cancellation_signal;
  // The frame of a task owns its signal: once a context has destroyed the frame, there is nothing
  // left to cancel.
  using signals = std::list<std::weak_ptr<signal>>;

  explicit state(asio::any_io_executor where) : executor(where), ended(where) { ended.set(); }

  void spawn(task<void> work) {
    if (is_cancelled) return;
    auto cancellation = detail::new_shared<signal>();
    const auto slot = cancellation->slot();
    const auto position = running.insert(running.end(), cancellation);
    ended.reset();
    try {
      detail::start_task(
          executor, std::move(work),
          [self = shared_from_this(), cancellation = std::move(cancellation),
           position](std::exception_ptr thrown) { self->take_end(position, thrown); },
          slot);
    } catch (...) {
      // Asio calls nothing before it returns, so no end was reported.
      running.erase(position);
      if (running.empty()) ended.set();
      throw;
    }
  }

  void cancel() {
    is_cancelled = true;
    // A copy, because a task that ends leaves the list.
    const std::vector<std::weak_ptr<signal>> targets(running.begin(), running.end());
    for (const auto& target : targets) {
      if (const auto cancellation = target.lock()) {
        cancellation->emit(asio::cancellation_type::all);
      }
    }
  }

  void take_end(signals::iterator position, const std::exception_ptr& thrown) {
    running.erase(position);
    const bool is_failure = thrown && !(is_cancelled && detail::is_cancellation(thrown));
    if (is_failure && !failure) failure = thrown;
    if (is_failure && !is_cancelled) cancel();
    if (running.empty()) ended.set();
  }

  // Result: whether the caller was cancelled meanwhile.
  static task<bool> wait_for_end(std::shared_ptr<state> group) {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    bool was_cancelled = false;
    while (!group->running.empty()) {
      bool is_request = false;
      try {
        co_await group->ended.wait();
      } catch (...) {
        is_request = true;
      }
      if (is_request) group->cancel();
      was_cancelled = was_cancelled || is_request;
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return was_cancelled;
  }

  static task<void> wait(std::shared_ptr<state> group) {
    const bool was_cancelled = co_await wait_for_end(group);
    if (group->failure) std::rethrow_exception(group->failure);
    if (was_cancelled) throw detail::asio_system_error(asio::error::operation_aborted);
  }

  static task<void> stop(std::shared_ptr<state> group) {
    group->cancel();
    co_await wait_for_end(group);
    if (group->failure) std::rethrow_exception(group->failure);
  }

  asio::any_io_executor executor;
  signals running;
  event_flag ended;
  bool is_cancelled = false;
  std::exception_ptr failure;
};

ELASTIC_DECL task_group::task_group(asio::any_io_executor executor)
    : state_(detail::new_shared<state>(std::move(executor))) {}

ELASTIC_DECL task_group::~task_group() {
  bool has_tasks = false;
  for (const auto& entry : state_->running) has_tasks = has_tasks || !entry.expired();
  // Not called directly: this may be another thread, or a context that is destroying the tasks.
  if (has_tasks) detail::post_work(state_->executor, [group = state_] { group->cancel(); });
}

ELASTIC_DECL void task_group::spawn(task<void> work) { state_->spawn(std::move(work)); }

ELASTIC_DECL void task_group::cancel() { state_->cancel(); }

ELASTIC_DECL std::size_t task_group::size() const { return state_->running.size(); }

ELASTIC_DECL task<void> task_group::wait() { return state::wait(state_); }

ELASTIC_DECL task<void> task_group::stop() { return state::stop(state_); }

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace elastic {

/// Runs all tasks at once until the first of them ends, with success or an error; then cancels the
/// others, with all types, and waits until they have ended.
///
/// Unlike Asio's `||`, a task that throws also ends the race, and every cancellation request of the
/// caller is passed on, not only the first.
///
/// Result: the index of the task that ended first. Others may have succeeded as well.
/// Errors: that of the first task, or else one of a later task that is not its cancellation.
/// Cancellation: every request is passed on to every task; then it throws what the first task
/// threw.
template <class... Tasks>
task<std::size_t> race(Tasks... tasks) {
  auto executor = co_await asio::this_coro::executor;
  const auto outcome =
      co_await detail::run_race(executor, sizeof...(Tasks), std::move(tasks)...);
  const std::size_t first = outcome.order[0];
  if (outcome.failures[first]) std::rethrow_exception(outcome.failures[first]);
  for (std::size_t place : outcome.order) {
    const std::exception_ptr& failure = outcome.failures[place];
    if (failure && !detail::is_cancellation(failure)) std::rethrow_exception(failure);
  }
  co_return first;
}

}  // namespace elastic

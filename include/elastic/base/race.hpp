// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace elastic {

/// Runs all tasks at once until the first of them ends, by success or by an error; cancels the
/// others, by all types, and waits for their end.
///
/// It differs from Asio's `||` in that a task that throws ends the race, too, and in that every
/// request of the caller arrives, not only the first.
///
/// Result: the index of the first. A later one may have ended with success as well.
/// Errors: that of the first, else one of a later task that is not its cancellation.
/// Cancellation: every request is passed on to every task; then throws what the first threw.
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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace elastic {

/// Runs all tasks at once, started in their order, until the last of them has ended. The first
/// that throws has the others cancelled, by all types.
///
/// Errors: that of the first that threw.
/// Cancellation: every request is passed on to every task; then throws what the first threw.
inline task<void> when_all(std::vector<task<void>> tasks) {
  if (tasks.empty()) co_return;
  auto executor = co_await asio::this_coro::executor;
  const std::size_t count = tasks.size();
  const auto outcome = co_await detail::run_concurrently(
      executor, count, detail::cancelled_by::first_failure, std::move(tasks));
  for (const std::size_t place : outcome.order) {
    if (outcome.failures[place]) std::rethrow_exception(outcome.failures[place]);
  }
}

}  // namespace elastic

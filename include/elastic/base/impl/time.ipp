// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/concurrent_run.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace elastic {

ELASTIC_DECL task<void> system_time::sleep_until(time_point deadline) {
  asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
  co_await timer.async_wait(asio::use_awaitable);
}

ELASTIC_DECL task<bool> with_deadline(time_source& time, time_point deadline, task<void> work) {
  auto executor = co_await asio::this_coro::executor;
  // Requests go only to the work: the deadline stays in force while the work handles them.
  std::vector<task<void>> tasks = detail::task_list(std::move(work), time.sleep_until(deadline));
  const auto outcome = co_await detail::run_concurrently(
      executor, 1, detail::cancelled_by::first_end, std::move(tasks));
  const std::exception_ptr& failure = outcome.failures[0];
  const bool expired = outcome.order[0] == 1 && !outcome.failures[1];
  if (!failure) co_return true;
  if (expired && detail::is_cancellation(failure)) co_return false;
  std::rethrow_exception(failure);
}

}  // namespace elastic

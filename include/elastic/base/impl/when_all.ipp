// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/when_all.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/concurrent_run.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace elastic {

ELASTIC_DECL task<void> when_all(std::vector<task<void>> tasks) {
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

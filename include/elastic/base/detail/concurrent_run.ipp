// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/concurrent_run.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/new_shared.hpp>

#include <system_error>

namespace elastic::detail {

ELASTIC_DECL bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const asio::multiple_exceptions& several) {
    // `&&` and `||` throw this if several of their branches threw.
    return is_cancellation(several.first_exception());
  } catch (const asio_system_error& single) {
    return single.code() == asio::error::operation_aborted ||
           single.code() == std::errc::operation_canceled;
  } catch (...) {
    return false;
  }
}

struct start_concurrent_run {
  template <class Handler>
  void operator()(Handler handler, const asio::any_io_executor& executor, std::size_t addressees,
                  cancelled_by reason, std::vector<task<void>> tasks) const {
    const std::size_t count = tasks.size();
    new_shared<concurrent_run<Handler>>(std::move(handler), count, addressees, reason)
        ->start(executor, std::move(tasks));
  }
};

ELASTIC_DECL task<concurrent_outcome> run_concurrently(asio::any_io_executor executor,
                                                       std::size_t addressees, cancelled_by reason,
                                                       std::vector<task<void>> tasks) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(concurrent_outcome)>(
      start_concurrent_run(), asio::use_awaitable, std::move(executor), addressees, reason,
      std::move(tasks));
}

ELASTIC_DECL task<std::size_t> run_race(std::vector<task<void>> tasks) {
  auto executor = co_await asio::this_coro::executor;
  const std::size_t count = tasks.size();
  const auto outcome = co_await run_concurrently(executor, count, cancelled_by::first_end,
                                                 std::move(tasks));
  const std::size_t first = outcome.order[0];
  if (outcome.failures[first]) std::rethrow_exception(outcome.failures[first]);
  for (const std::size_t place : outcome.order) {
    const std::exception_ptr& failure = outcome.failures[place];
    if (failure && !is_cancellation(failure)) std::rethrow_exception(failure);
  }
  co_return first;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/shielded_run.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <exception>

namespace elastic::detail {

ELASTIC_DECL task<void> run_shielded(asio::any_io_executor executor, task<void> work,
                                     std::function<void(asio::cancellation_type)> on_cancel) {
  const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
  const asio::cancellation_type received = before.cancelled();
  if (received != asio::cancellation_type::none) on_cancel(received);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) slot.assign(std::move(on_cancel));
  std::exception_ptr failure;
  try {
    co_await run_on(executor, std::move(work), asio::cancellation_slot());
  } catch (...) {
    failure = std::current_exception();
  }
  // This also takes `on_cancel` out of the slot.
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace elastic::detail

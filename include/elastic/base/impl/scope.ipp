// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/scope.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <exception>

namespace elastic {

ELASTIC_DECL task<void> shielded(task<void> work) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto executor = co_await asio::this_coro::executor;
  std::exception_ptr failure;
  try {
    // An empty slot replaces the caller's: nobody can signal through it.
    co_await detail::run_on(executor, std::move(work), asio::cancellation_slot());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

namespace detail {

ELASTIC_DECL task<void> run_with_cleanup(task<void> body, task<void> cleanup, cleanup_when when) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  std::exception_ptr failure;
  try {
    co_await std::move(body);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure || when == cleanup_when::always) {
    // Otherwise a cancelled body would cancel the cleanup, too.
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
      co_await shielded(std::move(cleanup));
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace detail

ELASTIC_DECL task<void> with_cleanup(task<void> body, task<void> cleanup) {
  return detail::run_with_cleanup(std::move(body), std::move(cleanup),
                                  detail::cleanup_when::always);
}

ELASTIC_DECL task<void> with_rollback(task<void> body, task<void> rollback) {
  return detail::run_with_cleanup(std::move(body), std::move(rollback),
                                  detail::cleanup_when::after_failure);
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace elastic::detail {

/// A thread that receives none of the process's signals, which are for the program's own threads.
/// Errors: `std::system_error` if no thread can be created.
ELASTIC_DECL std::thread start_thread(std::function<void()> work);

/// Runs a call that may block, such as one on a network file system, on its own thread, which has
/// ended when this returns. If no thread can be created, runs the call on this one.
///
/// Name the callable first: g++ 12 destroys a temporary in the `co_await` expression twice.
/// Errors: those of `work`.
/// Cancellation: all types, at once; the call continues by itself, and its result is discarded.
ELASTIC_DECL task<void> run_blocking(executor_work work);

/// A call and its result. Shared with the thread, which may outlive the coroutine that waits.
template <class Result>
struct call_with_result {
  explicit call_with_result(std::function<Result()> doing) : work(std::move(doing)) {}

  std::function<Result()> work;
  std::optional<Result> result;
};

/// The same for a call that has a result.
template <class Result>
task<Result> run_blocking(std::function<Result()> work) {
  const auto call = new_shared<call_with_result<Result>>(std::move(work));
  executor_work keeping = [call] { call->result.emplace(call->work()); };
  co_await run_blocking(std::move(keeping));
  co_return std::move(*call->result);
}

/// Closes a file on a thread without waiting for it: if a file system hangs, closing a file can
/// hang like writing to it.
ELASTIC_DECL void close_on_thread(unique_fd file) noexcept;

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/blocking.ipp>
#endif

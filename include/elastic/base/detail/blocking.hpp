// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace elastic::detail {

/// A thread that takes none of the process's signals: they are for the program's own threads.
/// Errors: `std::system_error` if no thread can be made.
ELASTIC_DECL std::thread start_thread(std::function<void()> work);

/// Runs a call that may block, such as one of a network file system, on a thread of its own, which
/// has ended when this returns; if none can be made, here.
///
/// Name the callable first: g++ 12 destroys one that is made within the `co_await` twice.
/// Errors: those of `work`.
/// Cancellation: all types, at once; the call goes on by itself, and what comes of it is dropped.
ELASTIC_DECL task<void> run_blocking(std::function<void()> work);

/// The same for a call that has a result.
template <class Result>
task<Result> run_blocking(std::function<Result()> work) {
  // Shared with the thread, which may outlive this.
  const auto result = new_shared<std::optional<Result>>();
  std::function<void()> keeping = [result, work = std::move(work)] { result->emplace(work()); };
  co_await run_blocking(std::move(keeping));
  co_return std::move(**result);
}

/// Closes a file on a thread, which nobody waits for: where a file system does not answer, a file
/// can be as hard to close as to write.
ELASTIC_DECL void close_on_thread(unique_fd file) noexcept;

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/blocking.ipp>
#endif

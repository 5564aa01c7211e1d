// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/async_start.hpp>
#include <elastic/base/task.hpp>

#include <utility>

namespace elastic {

/// Runs a task on the executor, with any completion token of Asio: a function, `use_future`,
/// `use_awaitable`, `deferred`. For programs without coroutines:
///
///     elastic::async_run(strand, store.get("key"), [](std::exception_ptr e, std::string value)
///     {…});
///
/// Unlike `co_spawn` it loses no cancellation that comes early, and lets every type of cancellation
/// reach the task. The signature is `void(std::exception_ptr, T)`, or `void(std::exception_ptr)`
/// for a task without a result; T must have a default constructor. The handler is called on its
/// associated executor, by default on the task's, never within this call, and lies in memory of its
/// associated allocator.
///
/// @param executor  a strand, or the executor of a context that one thread runs
///
/// Result, errors: those of the task.
/// Cancellation: by the cancellation slot of the token's handler, with every type that the task
/// knows; before the task has begun, every type ends it with `operation_aborted`. The signal may be
/// emitted on any thread, but by one at a time. No effect after the end. `asio::cancel_after` sends
/// terminal unless it is given another type.
template <class T, class CompletionToken>
auto async_run(asio::any_io_executor executor, task<T> work, CompletionToken&& token) {
  return detail::async_start(detail::task_initiation<T>(std::move(executor)), std::move(work),
                             std::forward<CompletionToken>(token));
}

}  // namespace elastic

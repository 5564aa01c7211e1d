// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>

#include <optional>
#include <utility>

namespace elastic {

/// Runs `work` to its end even if the caller is cancelled meanwhile, and leaves the caller's
/// cancellation filter, state and `throw_if_cancelled` unchanged.
///
/// It must be awaited before a cancellation request has arrived: in a coroutine that is already
/// cancelled, Asio throws at the `co_await` itself and nothing runs. For work that must also run
/// after a cancellation, use `with_cleanup` or `with_rollback`.
///
/// Errors: those of `work`.
/// Cancellation: not passed to `work`. A request that arrives meanwhile is kept in the caller's
/// state, so that its next `co_await` sees it.
ELASTIC_DECL task<void> shielded(task<void> work);

/// The same for work that has a result.
template <class T>
task<T> shielded(task<T> work) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(work), result);
  co_await shielded(std::move(keeping));
  co_return std::move(*result);
}

namespace detail {

enum class cleanup_when { always, after_failure };

ELASTIC_DECL task<void> run_with_cleanup(task<void> body, task<void> cleanup, cleanup_when when);

}  // namespace detail

/// Runs `body`, and then always `cleanup`, even if `body` threw or was cancelled.
///
/// Acquire what has to be cleaned up in `body`: in a caller that is already cancelled, Asio throws
/// at the `co_await` itself and neither runs.
///
/// Errors: the first one; an error of `cleanup` is reported only if `body` had none.
/// Cancellation: passed to `body` as usual, but never to `cleanup`, which is shielded.
ELASTIC_DECL task<void> with_cleanup(task<void> body, task<void> cleanup);

/// The same for a body that has a result.
template <class T>
task<T> with_cleanup(task<T> body, task<void> cleanup) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(body), result);
  co_await with_cleanup(std::move(keeping), std::move(cleanup));
  co_return std::move(*result);
}

/// Runs `body`, and `rollback` only if `body` threw or was cancelled. Use it for work in several
/// steps that must be either completed or undone. Otherwise like `with_cleanup`.
///
/// Errors: that of `body`; an error of `rollback` is discarded.
ELASTIC_DECL task<void> with_rollback(task<void> body, task<void> rollback);

/// The same for a body that has a result.
template <class T>
task<T> with_rollback(task<T> body, task<void> rollback) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(body), result);
  co_await with_rollback(std::move(keeping), std::move(rollback));
  co_return std::move(*result);
}

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/scope.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>

#include <optional>
#include <utility>

namespace elastic {

/// Runs `work` to its end whatever is cancelled meanwhile, and leaves the caller's cancellation
/// filter, state and `throw_if_cancelled` as they were.
///
/// To be awaited before a request has arrived: in a coroutine that was cancelled already, Asio
/// throws at the `co_await` itself and nothing runs. What must run after a cancellation too is
/// the clean-up of `with_cleanup` or the undoing of `with_rollback`.
///
/// Errors: those of `work`.
/// Cancellation: none reaches `work`; a request that arrives meanwhile stays noted in the
/// caller's state, so that its next `co_await` sees it.
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

/// Runs `body`, then `cleanup`: always, also when `body` threw or was cancelled.
///
/// What is to be cleaned up is made in `body`: in a caller that was cancelled already, Asio throws
/// at the `co_await` itself and neither runs.
///
/// Errors: the first one; an error of `cleanup` is reported only if `body` had none.
/// Cancellation: reaches `body` as usual and never `cleanup`, which is shielded.
ELASTIC_DECL task<void> with_cleanup(task<void> body, task<void> cleanup);

/// The same for a body that has a result.
template <class T>
task<T> with_cleanup(task<T> body, task<void> cleanup) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(body), result);
  co_await with_cleanup(std::move(keeping), std::move(cleanup));
  co_return std::move(*result);
}

/// Runs `body`, and `rollback` only if `body` threw or was cancelled: for what is made in
/// several steps and must be whole or not at all. Otherwise as `with_cleanup`.
///
/// Errors: that of `body`; one of `rollback` is dropped in its favour.
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

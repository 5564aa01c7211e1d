// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace elastic::detail {

/// Runs `work` on the executor to its end, so that it has a result in any case. A request to cancel
/// the caller, of any type and also one that it has received before, calls `on_cancel` on the
/// caller's executor instead, which may ask the work to end. The caller's cancellation state is
/// afterwards as Asio makes it: terminal only, nothing pending.
///
/// Errors: those of `work`.
ELASTIC_DECL task<void> run_shielded(asio::any_io_executor executor, task<void> work,
                                     std::function<void(asio::cancellation_type)> on_cancel);

/// The same for a task that has a result.
template <class T>
task<T> run_shielded(asio::any_io_executor executor, task<T> work,
                     std::function<void(asio::cancellation_type)> on_cancel) {
  std::optional<T> result;
  task<void> keeping = keep_result(std::move(work), result);
  task<void> running =
      run_shielded(std::move(executor), std::move(keeping), std::move(on_cancel));
  co_await std::move(running);
  co_return std::move(*result);
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/shielded_run.ipp>
#endif

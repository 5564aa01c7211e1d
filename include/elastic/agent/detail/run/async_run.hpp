// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/async_start.hpp>
#include <elastic/base/task.hpp>

#include <memory>
#include <utility>

namespace elastic::detail {

class request_inbox;

/// Starts a run with the type of handler that most programs use. It is compiled once, in the
/// library.
ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<run_result> work,
                            end_of_task<run_result>::handler on_end,
                            shared_cancellation cancellation);

/// A function that stops the run of an inbox when it is cancelled.
ELASTIC_DECL cancel_function stop_by_cancellation(std::shared_ptr<request_inbox> inbox);

/// Runs `work`, which serves the inbox, on the executor. The cancellation slot of the token's
/// handler stops it at any time, even before it has begun. It then still has a result.
template <class Result, class CompletionToken>
auto async_run(asio::any_io_executor executor, std::shared_ptr<request_inbox> inbox,
               task<Result> work, CompletionToken&& token) {
  task_initiation<Result> initiation(std::move(executor), stop_by_cancellation(std::move(inbox)));
  return async_start(std::move(initiation), std::move(work), std::forward<CompletionToken>(token));
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/async_run.ipp>
#endif

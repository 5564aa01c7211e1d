// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// How a run is started with a completion token. It is no plain `co_spawn`: that would drop each
// cancellation that comes before the coroutine has begun, except terminal, which would end the
// coroutine without a result.

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/task.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace elastic::detail {

class request_inbox;

/// Receives how a run ended: its exception, or null and its result.
template <class Result>
using run_handler = single_call<std::exception_ptr, Result>;

/// Runs `work` to its end on the executor, and then `on_end`. Nothing cancels it.
template <class Result>
void start_uncancelled(const asio::any_io_executor& executor, task<Result> work,
                       run_handler<Result> on_end) {
  struct outcome {
    explicit outcome(run_handler<Result> handler) : on_end(std::move(handler)) {}
    run_handler<Result> on_end;
    std::optional<Result> result;
  };
  const auto kept = new_shared<outcome>(std::move(on_end));
  start_task(executor, keep_result(std::move(work), kept->result),
             [kept](std::exception_ptr failure) {
               Result result = kept->result ? std::move(*kept->result) : Result();
               kept->on_end(std::move(failure), std::move(result));
             });
}

/// `start_uncancelled` as a function of the library. `async_run` needs one for each result.
ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<run_result> work,
                            run_handler<run_result> on_end);

/// What a cancellation slot calls to stop the run of an inbox. From any thread.
ELASTIC_DECL std::function<void(asio::cancellation_type)> stop_by_cancellation(
    std::shared_ptr<request_inbox> inbox);

/// The same executor; its context does not end while the copy exists.
ELASTIC_DECL asio::any_io_executor keep_running(asio::any_io_executor executor);

template <class Executor>
auto keep_context_of(const Executor& executor) {
  if constexpr (std::is_constructible_v<asio::any_io_executor, const Executor&>) {
    return keep_running(asio::any_io_executor(executor));
  } else {
    return asio::prefer(executor, asio::execution::outstanding_work.tracked);
  }
}

/// A completion handler, which waits for the end of its run, and its executor.
template <class Handler, class Result>
class waiting_handler {
 public:
  waiting_handler(Handler handler, const asio::any_io_executor& otherwise)
      : executor_(keep_context_of(asio::get_associated_executor(handler, otherwise))),
        handler_(std::move(handler)) {}

  /// Calls the handler on its executor.
  static void call(std::unique_ptr<waiting_handler> self, std::exception_ptr failure,
                   Result result) {
    self->failure_ = std::move(failure);
    self->result_ = std::move(result);
    const executor_type executor = std::move(self->executor_);
    executor_work work([self = std::move(self)]() mutable { finish(std::move(self)); });
    if constexpr (std::is_same_v<executor_type, asio::any_io_executor>) {
      dispatch_work(executor, std::move(work));
    } else {
      executor.execute(std::move(work));
    }
  }

 private:
  using executor_type = decltype(keep_context_of(asio::get_associated_executor(
      std::declval<const Handler&>(), std::declval<const asio::any_io_executor&>())));

  static void finish(std::unique_ptr<waiting_handler> self) {
    Handler handler = std::move(self->handler_);
    std::exception_ptr failure = std::move(self->failure_);
    Result result = std::move(self->result_);
    self.reset();
    std::move(handler)(std::move(failure), std::move(result));
  }

  executor_type executor_;
  Handler handler_;
  std::exception_ptr failure_;
  Result result_;
};

/// Starts a run for the handler of a completion token.
template <class Result>
class run_initiation {
 public:
  using executor_type = asio::any_io_executor;

  run_initiation(asio::any_io_executor executor, std::shared_ptr<request_inbox> inbox)
      : executor_(std::move(executor)), inbox_(std::move(inbox)) {}

  executor_type get_executor() const noexcept { return executor_; }

  template <class Handler>
  void operator()(Handler handler, task<Result> work) const {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign(stop_by_cancellation(inbox_));
    using waiting = waiting_handler<Handler, Result>;
    auto on_end = [self = std::make_unique<waiting>(std::move(handler), executor_)](
                      std::exception_ptr failure, Result result) mutable {
      waiting::call(std::move(self), std::move(failure), std::move(result));
    };
    start_run(executor_, std::move(work), std::move(on_end));
  }

 private:
  asio::any_io_executor executor_;
  std::shared_ptr<request_inbox> inbox_;
};

/// Runs `work`, which serves the inbox, on the executor. The cancellation slot of the token's
/// handler stops it at any time, also before it has begun.
template <class Result, class CompletionToken>
auto async_run(asio::any_io_executor executor, std::shared_ptr<request_inbox> inbox,
               task<Result> work, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, void(std::exception_ptr, Result)>(
      run_initiation<Result>(std::move(executor), std::move(inbox)), token, std::move(work));
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/async_run.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// How a task is started with a completion token. It is no plain `co_spawn`: that would drop each
// cancellation that comes before the coroutine has begun, except terminal, and instantiates some
// thirty functions for each handler.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/task.hpp>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace elastic::detail {

/// Receives how a task ended: its exception, or null and its result, if it has one.
template <class T>
struct end_of_task {
  using handler = single_call<std::exception_ptr, T>;
  using signature = void(std::exception_ptr, T);
};
template <>
struct end_of_task<void> {
  using handler = end_handler;
  using signature = void(std::exception_ptr);
};

/// What a cancellation slot calls. From any thread.
using cancel_function = std::function<void(asio::cancellation_type)>;

/// The cancellation of one task, from any thread. A request that comes before the task has begun
/// ends it with `operation_aborted`; later ones reach what it awaits.
class task_cancellation : public std::enable_shared_from_this<task_cancellation> {
 public:
  explicit task_cancellation(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  ELASTIC_DECL cancel_function canceller();
  asio::cancellation_slot slot() { return signal_.slot(); }
  /// On the executor: the task begins, and takes every type of cancellation from now on.
  ELASTIC_DECL void begin();
  /// The task has ended, or was destroyed with its context: requests have no effect any more.
  ELASTIC_DECL void end();

 private:
  ELASTIC_DECL void pass_on();

  asio::any_io_executor executor_;
  asio::cancellation_signal signal_;
  bool has_begun_ = false;
  std::mutex mutex_;
  bool has_ended_ = false;
  std::deque<asio::cancellation_type> requests_;
};
using shared_cancellation = std::shared_ptr<task_cancellation>;

/// Runs `work` on the executor, and then `on_end`. Null: nothing cancels it.
ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<void> work,
                            end_handler on_end, shared_cancellation cancellation);

/// The same for a task with a result. A function of the library may take its place for a result
/// that many programs have.
template <class T>
void start_run(const asio::any_io_executor& executor, task<T> work,
               typename end_of_task<T>::handler on_end, shared_cancellation cancellation) {
  static_assert(std::is_default_constructible_v<T>, "the handler gets a T() with an exception");
  using handler = typename end_of_task<T>::handler;
  struct outcome {
    explicit outcome(handler given) : on_end(std::move(given)) {}
    handler on_end;
    std::optional<T> result;
  };
  const auto kept = new_shared<outcome>(std::move(on_end));
  end_handler finish = [kept](std::exception_ptr failure) {
    T result = kept->result ? std::move(*kept->result) : T();
    kept->on_end(std::move(failure), std::move(result));
  };
  start_run(executor, keep_result(std::move(work), kept->result), std::move(finish),
            std::move(cancellation));
}

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

/// A completion handler, which waits for the end of its task, and its executor. It lies in memory
/// of the handler's allocator.
template <class Handler, class... Result>
class waiting_handler {
  using allocator = typename std::allocator_traits<
      asio::associated_allocator_t<Handler>>::template rebind_alloc<waiting_handler>;
  struct deleter {
    void operator()(waiting_handler* self) const {
      allocator memory = std::move(self->memory_);
      self->~waiting_handler();
      std::allocator_traits<allocator>::deallocate(memory, self, 1);
    }
  };

 public:
  using pointer = std::unique_ptr<waiting_handler, deleter>;

  static pointer make(Handler handler, const asio::any_io_executor& otherwise) {
    allocator memory(asio::get_associated_allocator(handler));
    waiting_handler* place = std::allocator_traits<allocator>::allocate(memory, 1);
    try {
      return pointer(::new (static_cast<void*>(place))
                         waiting_handler(std::move(handler), memory, otherwise));
    } catch (...) {
      std::allocator_traits<allocator>::deallocate(memory, place, 1);
      throw;
    }
  }

  /// Calls the handler on its executor.
  static void call(pointer self, std::exception_ptr failure, Result... result) {
    self->outcome_.emplace(std::move(failure), std::move(result)...);
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

  waiting_handler(Handler handler, allocator memory, const asio::any_io_executor& otherwise)
      : memory_(std::move(memory)),
        executor_(keep_context_of(asio::get_associated_executor(handler, otherwise))),
        handler_(std::move(handler)) {}

  static void finish(pointer self) {
    Handler handler = std::move(self->handler_);
    std::tuple<std::exception_ptr, Result...> outcome = std::move(*self->outcome_);
    self.reset();
    std::apply(std::move(handler), std::move(outcome));
  }

  [[no_unique_address]] allocator memory_;
  executor_type executor_;
  Handler handler_;
  std::optional<std::tuple<std::exception_ptr, Result...>> outcome_;
};

template <class Handler, class T>
struct waiting_handler_for {
  using type = waiting_handler<Handler, T>;
};
template <class Handler>
struct waiting_handler_for<Handler, void> {
  using type = waiting_handler<Handler>;
};

/// Starts a task for the handler of a completion token.
template <class T>
class task_initiation {
 public:
  using executor_type = asio::any_io_executor;

  /// @param cancel  what the handler's slot calls, instead of cancelling the task itself
  explicit task_initiation(asio::any_io_executor executor, cancel_function cancel = {})
      : executor_(std::move(executor)), cancel_(std::move(cancel)) {}

  executor_type get_executor() const noexcept { return executor_; }

  template <class Handler>
  void operator()(Handler handler, task<T> work) const {
    auto slot = asio::get_associated_cancellation_slot(handler);
    shared_cancellation cancellation;
    if (slot.is_connected() && !cancel_) {
      cancellation = new_shared<task_cancellation>(executor_);
      slot.assign(cancellation->canceller());
    } else if (slot.is_connected()) {
      slot.assign(cancel_);
    }
    using waiting = typename waiting_handler_for<Handler, T>::type;
    auto on_end = [self = waiting::make(std::move(handler), executor_)](std::exception_ptr failure,
                                                                        auto... result) mutable {
      waiting::call(std::move(self), std::move(failure), std::move(result)...);
    };
    start_run(executor_, std::move(work), std::move(on_end), std::move(cancellation));
  }

 private:
  asio::any_io_executor executor_;
  cancel_function cancel_;
};

/// Starts a task, whose initiation says what cancels it, with a completion token.
template <class T, class CompletionToken>
auto async_start(task_initiation<T> initiation, task<T> work, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, typename end_of_task<T>::signature>(
      std::move(initiation), token, std::move(work));
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/async_start.ipp>
#endif

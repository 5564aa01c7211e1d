// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The ways by which work reaches an executor. Asio instantiates some thirty functions for each
// handler type; these functions use one type for the whole library.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_strand.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace elastic::detail {

/// A callable that is called at most once. It is stored in place, without an allocation: a callable
/// larger than six words must hold its state by a shared pointer.
template <class... Arguments>
class single_call {
 public:
  template <class Work>
    requires(!std::same_as<std::remove_cvref_t<Work>, single_call>)
  single_call(Work work) : call_(&call<Work>), move_(&move<Work>) {
    static_assert(sizeof(Work) <= sizeof(room_) && alignof(Work) <= alignof(void*));
    static_assert(std::is_nothrow_move_constructible_v<Work>);
    ::new (static_cast<void*>(room_)) Work(std::move(work));
  }

  single_call(single_call&& other) noexcept
      : call_(other.call_), move_(std::exchange(other.move_, nullptr)) {
    if (move_ != nullptr) move_(other.room_, room_);
  }
  single_call& operator=(single_call&&) = delete;

  ~single_call() {
    if (move_ != nullptr) move_(room_, nullptr);
  }

  void operator()(Arguments... arguments) { call_(room_, std::move(arguments)...); }

 private:
  template <class Work>
  static void call(void* room, Arguments... arguments) {
    (*static_cast<Work*>(room))(std::move(arguments)...);
  }

  /// Moves the callable to `target`, or destroys it if that is null.
  template <class Work>
  static void move(void* room, void* target) noexcept {
    Work& work = *static_cast<Work*>(room);
    if (target != nullptr) ::new (target) Work(std::move(work));
    work.~Work();
  }

  alignas(void*) std::byte room_[6 * sizeof(void*)];
  void (*call_)(void*, Arguments...);
  void (*move_)(void*, void*) noexcept;
};

using executor_work = single_call<>;
/// Receives the exception of a task, or null.
using end_handler = single_call<std::exception_ptr>;

/// A strand on the executor. If that is an io_context's own, the strand has its type: on an
/// `any_io_executor`, Asio allocates memory for each property that it asks for.
ELASTIC_DECL asio::any_io_executor new_strand(const asio::any_io_executor& executor);

/// Runs `work` on the executor, never within this call.
ELASTIC_DECL void post_work(const asio::any_io_executor& executor, executor_work work);
ELASTIC_DECL void post_work(const asio::strand<asio::any_io_executor>& strand, executor_work work);

/// Runs `work` on the executor; within this call if the caller is on it.
ELASTIC_DECL void dispatch_work(const asio::any_io_executor& executor, executor_work work);
ELASTIC_DECL void dispatch_work(const asio::strand<asio::any_io_executor>& strand,
                                executor_work work);

/// Runs a task on the executor, and then `on_end` with its exception or null. The slot cancels it.
ELASTIC_DECL void start_task(const asio::any_io_executor& executor, task<void> work,
                             end_handler on_end, asio::cancellation_slot slot = {});

/// Runs a task on another executor to its end. Only the slot cancels it: that of the caller's
/// cancellation state passes on the caller's requests, an empty one passes on none.
/// Errors: those of `work`.
ELASTIC_DECL task<void> run_on(const asio::any_io_executor& executor, task<void> work,
                               asio::cancellation_slot slot);

/// The same for a task that has a result.
template <class T>
task<T> run_on(asio::any_io_executor executor, task<T> work, asio::cancellation_slot slot) {
  std::optional<T> result;
  task<void> keeping = keep_result(std::move(work), result);
  co_await run_on(executor, std::move(keeping), slot);
  co_return std::move(*result);
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/executor_work.ipp>
#endif

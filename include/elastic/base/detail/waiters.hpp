// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

namespace elastic::detail {

/// An object that contains waiting coroutines, from the point of view of their execution context.
class abandonable {
 public:
  virtual ~abandonable() = default;
  /// Destroys the waiting coroutines.
  virtual void abandon() noexcept = 0;
};

/// Knows, for each execution context, the objects that contain coroutines waiting on it. A
/// coroutine may itself own the object in which it waits, so that otherwise nothing would destroy
/// it when the context ends.
///
/// Thread-safety: every member may be called from any thread.
class waiting_room final : public asio::execution_context::service {
 public:
  using key_type = waiting_room;
  inline static asio::execution_context::id id;

  explicit waiting_room(asio::execution_context& context) : service(context) {}

  ELASTIC_DECL static waiting_room& of(const asio::any_io_executor& executor);
  ELASTIC_DECL void enter(std::shared_ptr<abandonable> holder);
  ELASTIC_DECL void leave(const std::shared_ptr<abandonable>& holder);

 private:
  ELASTIC_DECL void shutdown() noexcept override;

  std::mutex mutex_;
  std::set<std::shared_ptr<abandonable>> holders_;
};

/// Coroutines of one strand that wait to be woken, ordered by a number; equal ones wake in the
/// order of their arrival.
///
/// It replaces Asio's experimental channel, which (in 1.22) loses values that are sent after a
/// receive was cancelled, and has error codes of its own. It is not a template, because Asio
/// instantiates some hundred functions for each type with which a coroutine is woken.
/// A coroutine that was woken no longer needs this object, which may be destroyed before it runs.
class waiters {
 public:
  ELASTIC_DECL explicit waiters(asio::any_io_executor executor);
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;

  /// Wakes the remaining coroutines with `operation_aborted`.
  ELASTIC_DECL ~waiters();

  /// Waits until it is woken.
  ///
  /// @param receiver  an object of the coroutine that receives the value; valid while it waits
  /// @param order     the lowest is woken first
  /// Errors: the code with which it was woken.
  /// Cancellation: all types, until it is woken; throws `operation_aborted`.
  ELASTIC_DECL task<void> wait(void* receiver = nullptr, std::int64_t order = 0);

  bool empty() const { return size() == 0; }
  ELASTIC_DECL std::size_t size() const;

  // The coroutine that is woken next; there must be one.
  ELASTIC_DECL void* first_receiver() const;
  ELASTIC_DECL std::int64_t first_order() const;
  ELASTIC_DECL void wake_first(asio_error_code failure = {});

 private:
  class waiter;
  template <class Handler>
  class waiter_of;
  struct table;
  struct start_wait;

  template <class Handler>
  void add(Handler handler, void* receiver, std::int64_t order);

  asio::any_io_executor executor_;
  std::shared_ptr<table> waiting_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/waiters.ipp>
#endif

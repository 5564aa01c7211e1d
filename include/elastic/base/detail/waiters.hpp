// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

namespace elastic::detail {

/// What holds coroutines that wait, as seen by the context on which they do.
class abandonable {
 public:
  virtual ~abandonable() = default;
  /// Destroys the coroutines that wait.
  virtual void abandon() noexcept = 0;
};

/// Knows, for each execution context, the holders of coroutines that wait on it. A coroutine may
/// itself own what it waits in, so that nobody else would destroy it when the context ends.
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

/// Coroutines of one strand that wait to be woken, ordered by a key of each.
///
/// In the place of Asio's experimental channel, which (in 1.22) loses what is sent after a receive
/// was cancelled, and has error codes of its own.
/// A coroutine that was woken no longer needs this object, which may be destroyed before it runs.
template <class Key, class... Results>
class waiters {
 public:
  explicit waiters(asio::any_io_executor executor)
      : executor_(std::move(executor)), waiting_(std::make_shared<table>()) {}
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;

  /// Who still waits is woken with `operation_aborted`.
  ~waiters() {
    while (!empty()) wake_first(asio::error::operation_aborted, Results()...);
  }

  /// Waits until it is woken under `key`, which nobody else waits or waited under.
  ///
  /// Result: what it was woken with. Errors: the code that it was woken with.
  /// Cancellation: all types, until it is woken; throws `operation_aborted`.
  auto wait(Key key) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, Results...)>(
        start_wait(), asio::use_awaitable, this, key);
  }

  bool empty() const { return waiting_->places.empty(); }
  std::size_t size() const { return waiting_->places.size(); }

  /// The key of the coroutine that is woken next.
  const Key& first() const { return waiting_->places.begin()->first; }

  void wake_first(asio::error_code failure, Results... results) {
    wake(*waiting_, first(), failure, std::move(results)...);
  }

 private:
  // Its destruction without `resume` destroys the coroutine that waits.
  class waiter {
   public:
    virtual ~waiter() = default;
    virtual void resume(asio::error_code failure, Results... results) = 0;
    /// The last one is gone: the context need not end the coroutines that wait there any more.
    virtual void leave_room(const std::shared_ptr<abandonable>& holder) = 0;
  };

  struct table final : abandonable, std::enable_shared_from_this<table> {
    void abandon() noexcept override {
      // Out of here first: a coroutine that is destroyed may destroy the owner of this object.
      const auto leaving = std::exchange(places, {});
    }
    std::map<Key, std::unique_ptr<waiter>> places;
  };

  template <class Handler>
  class waiter_of final : public waiter {
   public:
    waiter_of(asio::any_io_executor executor, Handler handler)
        : executor_(std::move(executor)), handler_(std::move(handler)) {}

    void resume(asio::error_code failure, Results... results) override {
      auto executor = asio::get_associated_executor(handler_, executor_);
      auto run = [handler = std::move(handler_), failure,
                  ... results = std::move(results)]() mutable {
        std::move(handler)(failure, std::move(results)...);
      };
      asio::post(executor, std::move(run));
    }

    void leave_room(const std::shared_ptr<abandonable>& holder) override {
      waiting_room::of(executor_).leave(holder);
    }

   private:
    asio::any_io_executor executor_;
    Handler handler_;
  };

  struct start_wait {
    template <class Handler>
    void operator()(Handler handler, waiters* at, Key key) const {
      at->add(std::move(handler), key);
    }
  };

  template <class Handler>
  void add(Handler handler, const Key& key) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto place = std::make_unique<waiter_of<Handler>>(executor_, std::move(handler));
    if (empty()) waiting_room::of(executor_).enter(waiting_);
    waiting_->places.emplace(key, std::move(place));
    if (!slot.is_connected()) return;
    // It stays in the slot after the wait, whose owner may be gone by then, and finds nobody.
    slot.assign([weak = std::weak_ptr<table>(waiting_), key](asio::cancellation_type type) {
      const auto waiting = weak.lock();
      if (!waiting || type == asio::cancellation_type::none) return;
      wake(*waiting, key, asio::error::operation_aborted, Results()...);
    });
  }

  // The key by value: it may be the one that is removed.
  static void wake(table& waiting, Key key, asio::error_code failure, Results... results) {
    const auto place = waiting.places.extract(key);
    if (place.empty()) return;
    if (waiting.places.empty()) place.mapped()->leave_room(waiting.shared_from_this());
    place.mapped()->resume(failure, std::move(results)...);
  }

  asio::any_io_executor executor_;
  std::shared_ptr<table> waiting_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/waiters.ipp>
#endif

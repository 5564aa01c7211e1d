// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/waiters.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/version.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace elastic::detail {

/// The version of the copy of the library whose inline variables this one uses. Each plugin of a
/// program has a copy, but symbols of inline variables are unique in the process if g++ made them,
/// unless they are hidden: the plugin that was opened first defines them for all.
inline const char* version_of_variables = version_text;

inline void check_version_of_variables() {
  if (version_of_variables == std::string_view(version_text)) return;
  throw error(errc::not_supported,
              std::string("elastic ") + version_text + " uses variables of elastic " +
                  version_of_variables + ", which another library of this process contains: " +
                  "compile what contains them with -fvisibility=hidden");
}

ELASTIC_DECL waiting_room& waiting_room::of(const asio::any_io_executor& executor) {
  return asio::use_service<waiting_room>(asio::query(executor, asio::execution::context));
}

ELASTIC_DECL void waiting_room::enter(std::shared_ptr<abandonable> holder) {
  const std::lock_guard lock(mutex_);
  holders_.insert(std::move(holder));
}

ELASTIC_DECL void waiting_room::leave(const std::shared_ptr<abandonable>& holder) {
  const std::lock_guard lock(mutex_);
  holders_.erase(holder);
}

ELASTIC_DECL void waiting_room::shutdown() noexcept {
  std::set<std::shared_ptr<abandonable>> holders;
  {
    const std::lock_guard lock(mutex_);
    holders.swap(holders_);
  }
  for (const auto& holder : holders) holder->abandon();
}

// If it is destroyed without `resume`, it destroys the waiting coroutine.
class waiters::waiter {
 public:
  explicit waiter(void* receiver) : receiver_(receiver) {}
  virtual ~waiter() = default;
  virtual void resume(asio_error_code failure) = 0;
  /// The last waiter is gone: the context no longer needs to destroy waiting coroutines there.
  virtual void leave_room(const std::shared_ptr<abandonable>& holder) = 0;

  void* receiver() const { return receiver_; }

 private:
  void* receiver_;
};

template <class Handler>
class waiters::waiter_of final : public waiter {
 public:
  waiter_of(asio::any_io_executor executor, Handler handler, void* receiver)
      : waiter(receiver), executor_(std::move(executor)), handler_(std::move(handler)) {}

  void resume(asio_error_code failure) override {
    auto executor = asio::get_associated_executor(handler_, executor_);
    auto run = [handler = std::move(handler_), failure]() mutable {
      std::move(handler)(failure);
    };
    post_work(executor, std::move(run));
  }

  void leave_room(const std::shared_ptr<abandonable>& holder) override {
    waiting_room::of(executor_).leave(holder);
  }

 private:
  asio::any_io_executor executor_;
  Handler handler_;
};

struct waiters::table final : abandonable, std::enable_shared_from_this<table> {
  using key_type = std::pair<std::int64_t, std::uint64_t>;

  void abandon() noexcept override {
    // Emptied first: destroying a coroutine may destroy the owner of this object.
    const auto leaving = std::exchange(places, {});
  }

  // Takes the key by value, because it may be the one that is removed.
  void wake(key_type key, asio_error_code failure) {
    const auto place = places.extract(key);
    if (place.empty()) return;
    if (places.empty()) place.mapped()->leave_room(shared_from_this());
    place.mapped()->resume(failure);
  }

  std::map<key_type, std::unique_ptr<waiter>> places;
  std::uint64_t next = 0;
};

struct waiters::start_wait {
  template <class Handler>
  void operator()(Handler handler, waiters* waiting, void* receiver, std::int64_t order) const {
    waiting->add(std::move(handler), receiver, order);
  }
};

ELASTIC_DECL waiters::waiters(asio::any_io_executor executor)
    : executor_(std::move(executor)), waiting_(new_shared<table>()) {
  check_version_of_variables();
}

ELASTIC_DECL waiters::~waiters() {
  while (!empty()) wake_first(asio::error::operation_aborted);
}

ELASTIC_DECL std::size_t waiters::size() const { return waiting_->places.size(); }

ELASTIC_DECL void waiters::wake_first(asio_error_code failure) {
  waiting_->wake(waiting_->places.begin()->first, failure);
}

ELASTIC_DECL void* waiters::first_receiver() const {
  return waiting_->places.begin()->second->receiver();
}

ELASTIC_DECL std::int64_t waiters::first_order() const {
  return waiting_->places.begin()->first.first;
}

ELASTIC_DECL task<void> waiters::wait(void* receiver, std::int64_t order) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(asio_error_code)>(
      start_wait(), asio::use_awaitable, this, receiver, order);
}

template <class Handler>
void waiters::add(Handler handler, void* receiver, std::int64_t order) {
  auto slot = asio::get_associated_cancellation_slot(handler);
  auto place = std::make_unique<waiter_of<Handler>>(executor_, std::move(handler), receiver);
  if (empty()) waiting_room::of(executor_).enter(waiting_);
  const table::key_type key{order, waiting_->next++};
  waiting_->places.emplace(key, std::move(place));
  if (!slot.is_connected()) return;
  // Stays in the slot after the wait. Its owner may be gone by then, and it finds no waiter.
  slot.assign([weak = std::weak_ptr<table>(waiting_), key](asio::cancellation_type type) {
    const auto waiting = weak.lock();
    if (!waiting || type == asio::cancellation_type::none) return;
    waiting->wake(key, asio::error::operation_aborted);
  });
}

}  // namespace elastic::detail

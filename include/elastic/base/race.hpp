// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace elastic {

namespace detail {

/// Whether this is the end of something that was cancelled.
inline bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const asio::multiple_exceptions& several) {
    // What `&&` and `||` throw where more than one of their branches did.
    return is_cancellation(several.first_exception());
  } catch (const std::system_error& one) {
    return one.code() == asio::error::operation_aborted ||
           one.code() == std::errc::operation_canceled;
  } catch (...) {
    return false;
  }
}

/// How the tasks of a race ended: who first, and each with what.
template <std::size_t Count>
struct race_outcome {
  std::array<std::size_t, Count> order{};
  std::array<std::exception_ptr, Count> failures{};
};

// Tasks that run until the first of them ends, which cancels the others. Unlike a parallel_group
// it lets every request of the caller through, not only the first one: a stop that escalates
// arrives, also after the race is decided.
template <class Handler, std::size_t Count>
class race_state : public std::enable_shared_from_this<race_state<Handler, Count>> {
 public:
  // The caller's requests go to the first `addressees` of the tasks.
  race_state(Handler handler, std::size_t addressees)
      : handler_(std::move(handler)), addressees_(addressees) {}

  template <class... Tasks>
  void start(const asio::any_io_executor& executor, Tasks... tasks) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
      slot.assign([weak = this->weak_from_this()](asio::cancellation_type type) {
        if (const auto race = weak.lock()) race->cancel(race->addressees_, type);
      });
    }
    std::size_t place = 0;
    (start_one(executor, place++, std::move(tasks)), ...);
  }

 private:
  void start_one(const asio::any_io_executor& executor, std::size_t place, task<void> one) {
    auto on_end = [self = this->shared_from_this(), place](std::exception_ptr failure) {
      self->ended(place, failure);
    };
    asio::co_spawn(executor, std::move(one),
                   asio::bind_cancellation_slot(cancel_[place].slot(), std::move(on_end)));
  }

  void cancel(std::size_t count, asio::cancellation_type type) {
    for (std::size_t place = 0; place < count; ++place) {
      if (!has_ended_[place]) cancel_[place].emit(type);
    }
  }

  void ended(std::size_t place, const std::exception_ptr& failure) {
    has_ended_[place] = true;
    outcome_.failures[place] = failure;
    outcome_.order[count_++] = place;
    if (count_ == 1) cancel(Count, asio::cancellation_type::all);
    if (count_ < Count) return;
    std::move(handler_)(std::move(outcome_));
  }

  Handler handler_;
  std::size_t addressees_;
  std::array<asio::cancellation_signal, Count> cancel_;
  std::array<bool, Count> has_ended_{};
  std::size_t count_ = 0;
  race_outcome<Count> outcome_;
};

struct start_race {
  template <class Handler, class... Tasks>
  void operator()(Handler handler, const asio::any_io_executor& executor, std::size_t addressees,
                  Tasks... tasks) const {
    using state = race_state<Handler, sizeof...(Tasks)>;
    std::make_shared<state>(std::move(handler), addressees)->start(executor, std::move(tasks)...);
  }
};

template <class... Tasks>
task<race_outcome<sizeof...(Tasks)>> run_race(asio::any_io_executor executor,
                                              std::size_t addressees, Tasks... tasks) {
  return asio::async_initiate<const asio::use_awaitable_t<>,
                              void(race_outcome<sizeof...(Tasks)>)>(
      start_race(), asio::use_awaitable, std::move(executor), addressees, std::move(tasks)...);
}

}  // namespace detail

/// Runs all tasks at once until the first of them ends, by success or by an error; cancels the
/// others, by all types, and waits for their end.
///
/// It differs from Asio's `||` in that a task that throws ends the race, too, and in that every
/// request of the caller arrives, not only the first.
///
/// Result: the index of the first. A later one may have ended with success as well.
/// Errors: that of the first, else one of a later task that is not its cancellation.
/// Cancellation: every request is passed on to every task; then throws what the first threw.
template <class... Tasks>
task<std::size_t> race(Tasks... tasks) {
  auto executor = co_await asio::this_coro::executor;
  const auto outcome =
      co_await detail::run_race(executor, sizeof...(Tasks), std::move(tasks)...);
  const std::size_t first = outcome.order[0];
  if (outcome.failures[first]) std::rethrow_exception(outcome.failures[first]);
  for (std::size_t place : outcome.order) {
    const std::exception_ptr& failure = outcome.failures[place];
    if (failure && !detail::is_cancellation(failure)) std::rethrow_exception(failure);
  }
  co_return first;
}

}  // namespace elastic

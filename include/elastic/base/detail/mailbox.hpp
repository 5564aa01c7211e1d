// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/waiters.hpp>
#include <elastic/base/task.hpp>

#include <deque>
#include <optional>
#include <utility>

namespace elastic::detail {

/// An unbounded queue between coroutines of one strand: `push` never waits, `pop` does.
///
/// The producers must bound the number of values (such as one message per worker).
/// Thread-safety: one strand at a time.
template <class T>
class mailbox {
 public:
  explicit mailbox(asio::any_io_executor executor) : waiting_(std::move(executor)) {}

  void push(T value) {
    if (waiting_.empty()) {
      values_.push_back(std::move(value));
    } else {
      static_cast<std::optional<T>*>(waiting_.first_receiver())->emplace(std::move(value));
      waiting_.wake_first();
    }
  }

  /// Drops all values not yet popped.
  void clear() { values_.clear(); }

  /// The oldest value not yet popped; waits for one if there is none.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and no value is lost. The end of the
  /// mailbox also throws it.
  task<T> pop() {
    if (values_.empty()) {
      // Does not touch the mailbox after the wait, because it may be gone by then.
      std::optional<T> value;
      co_await waiting_.wait(&value);
      co_return std::move(*value);
    }
    T value = std::move(values_.front());
    values_.pop_front();
    co_return value;
  }

 private:
  std::deque<T> values_;
  waiters waiting_;
};

}  // namespace elastic::detail

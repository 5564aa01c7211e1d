// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <support/manual_time.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace elastic::test {

/// A coroutine under observation: its outcome, and a signal that cancels it.
template <class T>
struct task_outcome {
  bool ended = false;
  std::optional<T> value;
  std::exception_ptr failure;
  asio::cancellation_signal cancel;

  /// The code of the error with which it ended.
  std::error_code code() const {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::system_error& thrown) {
      return thrown.code();
    }
    return {};
  }
  std::string what() const {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return "";
  }
};

/// Runs a coroutine concurrently with the test, under virtual time.
template <class T>
std::shared_ptr<task_outcome<T>> start(manual_time& time, task<T> work) {
  auto result = std::make_shared<task_outcome<T>>();
  asio::co_spawn(time.context(), std::move(work),
                 asio::bind_cancellation_slot(result->cancel.slot(),
                                              [result](std::exception_ptr failure, T value) {
                                                result->ended = true;
                                                result->failure = failure;
                                                if (!failure) result->value = std::move(value);
                                              }));
  return result;
}

/// Gives a task without a result one, so that its outcome can be kept.
inline task<bool> passed(task<void> barrier) {
  co_await std::move(barrier);
  co_return true;
}

}  // namespace elastic::test

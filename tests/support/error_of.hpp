// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <system_error>
#include <utility>

namespace elastic::test {

/// The code of the error with which a task ends; empty if it succeeds.
template <class T>
task<std::error_code> error_of(task<T> work) {
  try {
    co_await std::move(work);
  } catch (const std::system_error& failure) {
    co_return failure.code();
  }
  co_return std::error_code();
}

/// The message of the error with which a task ends; empty if it succeeds.
template <class T>
task<std::string> what_of(task<T> work) {
  try {
    co_await std::move(work);
  } catch (const std::exception& failure) {
    co_return failure.what();
  }
  co_return std::string();
}

}  // namespace elastic::test

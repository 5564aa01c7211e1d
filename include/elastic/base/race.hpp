// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <utility>

namespace elastic {

/// Runs all tasks at once until the first of them ends, with success or an error; then cancels the
/// others, with all types, and waits until they have ended.
///
/// Unlike Asio's `||`, a task that throws also ends the race, and every cancellation request of the
/// caller is passed on, not only the first.
///
/// Result: the index of the task that ended first. Others may have succeeded as well.
/// Errors: that of the first task, or else one of a later task that is not its cancellation.
/// Cancellation: every request is passed on to every task; then it throws what the first task
/// threw.
template <class... Tasks>
task<std::size_t> race(Tasks... tasks) {
  return detail::run_race(detail::task_list(std::move(tasks)...));
}

}  // namespace elastic

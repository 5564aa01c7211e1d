// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <memory>

namespace elastic {

/// Owns tasks that run beside the coroutine that spawned them. If one throws, the others are
/// cancelled, and the first error is kept for the caller of `wait` or `stop`.
///
/// To run tasks within a scope, use `with_cleanup(body, group.stop())`, which returns when body and
/// tasks have ended, on every way out. A group that was cancelled, by its owner or by an error,
/// remains cancelled: tasks that are spawned afterwards do not start.
///
/// A task of the group must not await it.
/// Thread-safety: one strand at a time, that of the executor; the destructor on any thread.
class task_group {
 public:
  explicit ELASTIC_DECL task_group(asio::any_io_executor executor);
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  /// Cancels the tasks that still run, asynchronously, and does not wait for them. What they use
  /// must outlive them, so they must share its ownership. Prefer `stop`.
  ELASTIC_DECL ~task_group();

  /// Runs `work` on the executor, immediately if called there. If the group is cancelled, `work` is
  /// destroyed without starting.
  /// Errors: what the executor throws if it accepts no work, `std::bad_alloc`; `work` is then
  /// destroyed soon, and the group is unchanged.
  ELASTIC_DECL void spawn(task<void> work);

  /// Cancels every task, with all types. May be called again.
  ELASTIC_DECL void cancel();

  /// Waits until no task runs, including those that are spawned meanwhile.
  ///
  /// Errors: the first that ended a task; a task that ends because it was cancelled has none.
  /// Cancellation: each request cancels the group, and its end is still awaited; then it throws the
  /// first error, or `operation_aborted` if there was none.
  ELASTIC_DECL task<void> wait();

  /// Cancels every task and waits until none runs. May be called again.
  ///
  /// Errors: as `wait`.
  /// Cancellation: none; a request that arrives meanwhile is kept in the caller's state.
  ELASTIC_DECL task<void> stop();

  /// How many tasks run.
  ELASTIC_DECL std::size_t size() const;

  bool empty() const { return size() == 0; }

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/task_group.ipp>
#endif

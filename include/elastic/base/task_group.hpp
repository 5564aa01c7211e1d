// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <memory>

namespace elastic {

/// Owns tasks that run beside the coroutine that spawned them. The first that throws has the
/// others cancelled, and its error is kept for the one that awaits the group.
///
/// A scope in which tasks run: `with_cleanup(body, group.stop())` returns when body and tasks have
/// ended, on every way out. A group that is cancelled, by its owner or by an error, stays so: what
/// is spawned into it afterwards is not begun.
///
/// A task of the group must not await it.
/// Thread-safety: one strand at a time, that of the executor; the destructor on any thread.
class task_group {
 public:
  explicit ELASTIC_DECL task_group(asio::any_io_executor executor);
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  /// Has the tasks that still run cancelled, soon, and does not wait for them: what they use must
  /// outlive them, so they hold a share of it. Prefer `stop`.
  ELASTIC_DECL ~task_group();

  /// Runs `work` on the executor, at once if this is called there. It is destroyed without having
  /// begun if the group is cancelled.
  /// Errors: what the executor throws if it takes no work, `std::bad_alloc`; `work` is then
  /// destroyed, soon, and the group as before.
  ELASTIC_DECL void spawn(task<void> work);

  /// Cancels every task, by all types. May be called again.
  ELASTIC_DECL void cancel();

  /// Waits until no task runs; those that are spawned meanwhile count.
  ///
  /// Errors: the first that ended a task; a task that ends because it was cancelled has none.
  /// Cancellation: each request cancels the group, whose end is awaited nevertheless; then throws
  /// the first error, or `operation_aborted` if there was none.
  ELASTIC_DECL task<void> wait();

  /// Cancels every task and waits until none runs. May be called again.
  ///
  /// Errors: as `wait`.
  /// Cancellation: none; a request that arrives meanwhile stays noted in the caller's state.
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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace elastic {

using time_point = std::chrono::steady_clock::time_point;  ///< A monotonic time.
using duration = std::chrono::steady_clock::duration;      ///< A span of time, in ns.
using wall_time = std::chrono::system_clock::time_point;   ///< A time of day.

/// The time a `span` after `now`; `time_point::max()`, which never comes, if that is out of range.
/// `now` must not be negative, as no monotonic time is.
constexpr time_point deadline_after(time_point now, duration span) {
  return span < time_point::max() - now ? now + span : time_point::max();
}

/// The source of time. Tests and simulations replace it by a clock that jumps to the next deadline;
/// therefore this library uses clocks and timers only through it.
///
/// Thread-safety: every member may be called from any thread.
class ELASTIC_EXPORT time_source {
 public:
  virtual ~time_source() = default;

  /// The monotonic time: for deadlines and intervals.
  virtual time_point now() const = 0;

  /// The time of day, for users and files. Never compare it between nodes.
  virtual wall_time wall_now() const = 0;

  /// Waits until `now() >= deadline`; `time_point::max()` waits until it is cancelled.
  ///
  /// Cancellation: all types; throws `operation_aborted` and leaves nothing behind.
  virtual task<void> sleep_until(time_point deadline) = 0;
};

/// The system clocks.
class ELASTIC_EXPORT system_time final : public time_source {
 public:
  time_point now() const override { return std::chrono::steady_clock::now(); }
  wall_time wall_now() const override { return std::chrono::system_clock::now(); }
  ELASTIC_DECL task<void> sleep_until(time_point deadline) override;
};

/// Runs `work`, at most until `deadline`.
///
/// Result: whether `work` ended by itself. If not, it was cancelled (with all types), and has ended
/// when this returns. Work that succeeds although the deadline cancelled it counts as having ended
/// by itself, so no result is lost.
///
/// Errors: those of `work`.
/// Cancellation: every request is passed on to `work`, even after the deadline; then it throws what
/// `work` threw.
ELASTIC_DECL task<bool> with_deadline(time_source& time, time_point deadline, task<void> work);

/// The same for work that has a result: empty if the deadline came first.
template <class T>
task<std::optional<T>> with_deadline(time_source& time, time_point deadline, task<T> work) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(work), result);
  co_await with_deadline(time, deadline, std::move(keeping));
  co_return result;
}

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/time.ipp>
#endif

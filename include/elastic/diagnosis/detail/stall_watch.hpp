// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace elastic::detail {

/// The conditions under which a job counts as stalled.
struct stall_watch_options {
  /// A fixed time without a step, more than 0, whatever the length of steps. Empty: `least` or
  /// `step_factor` times the longest step so far, whichever is longer.
  std::optional<duration> stall_after = {};
  duration least = std::chrono::seconds(30);
  int step_factor = 5;
};

/// The result of an inspection of the ranks of a job.
struct stall_look {
  /// The age of the oldest outstanding operation of any rank. Empty: no recorder answered. Zero:
  /// all answered, and no operation is outstanding.
  std::optional<duration> longest_wait = {};
  /// Whether no rank used a processor for more than a few percent of the time.
  bool is_idle = false;
};

/// Decides when to inspect the ranks of a job, and whether the job is stalled. Pure: it takes times
/// and events. The caller has one timer, at `wake_at()`, and asks again when it fires. While steps
/// are reported, there is no inspection, and the timer fires once per `patience()`.
///
/// Thread-safety: none.
class stall_watch {
 public:
  /// @param now  when the attempt began
  explicit stall_watch(const stall_watch_options& options, time_point now);

  /// Notes a step that a rank reported. Only a step above all earlier ones counts as progress.
  /// Result: whether it ends a stall.
  bool step(std::int64_t number, time_point now);

  /// The time of the next inspection; `time_point::max()` while the job is stalled.
  time_point wake_at() const;

  /// Whether to inspect now.
  bool wants_look(time_point now) const { return now >= wake_at(); }

  /// Takes the result of an inspection.
  /// Result: whether a stall begins now; true once for each stall.
  bool looked(const stall_look& found, time_point now);

  bool is_stalled() const { return is_stalled_; }

  /// The beginning of the stall: that of the oldest outstanding operation, but not before the last
  /// step; without recorders, the last step. Only while the job is stalled.
  time_point stalled_since() const { return stalled_since_; }

  /// The time without progress after which the job counts as stalled.
  duration patience() const;

 private:
  bool shows_stall(const stall_look& found) const;

  stall_watch_options options_;
  time_point progressed_;
  /// No inspection before this time; an inspection that finds no stall postpones it.
  time_point rests_until_;
  std::optional<time_point> stepped_;
  std::int64_t last_step_ = -1;
  duration longest_step_{};
  bool is_stalled_ = false;
  time_point stalled_since_{};
};

inline stall_watch::stall_watch(const stall_watch_options& options, time_point now)
    : options_(options), progressed_(now), rests_until_(now) {}

inline bool stall_watch::step(std::int64_t number, time_point now) {
  if (number <= last_step_) return false;
  // A step that ended a stall does not count as a usual length.
  if (stepped_ && !is_stalled_) longest_step_ = std::max(longest_step_, now - *stepped_);
  last_step_ = number;
  stepped_ = now;
  progressed_ = std::max(progressed_, now);
  return std::exchange(is_stalled_, false);
}

inline duration stall_watch::patience() const {
  if (options_.stall_after) return *options_.stall_after;
  return std::max(options_.least, options_.step_factor * longest_step_);
}

inline time_point stall_watch::wake_at() const {
  if (is_stalled_) return time_point::max();
  return std::max(deadline_after(progressed_, patience()), rests_until_);
}

inline bool stall_watch::shows_stall(const stall_look& found) const {
  if (found.longest_wait) return *found.longest_wait >= patience();
  // Without recorders, idleness before the first step means nothing: the job may be loading its
  // data.
  return found.is_idle && (stepped_.has_value() || options_.stall_after.has_value());
}

inline bool stall_watch::looked(const stall_look& found, time_point now) {
  if (is_stalled_) return false;
  if (shows_stall(found)) {
    is_stalled_ = true;
    stalled_since_ = stepped_.value_or(now);
    if (found.longest_wait) {
      stalled_since_ = std::max(stepped_.value_or(time_point::min()), now - *found.longest_wait);
    }
    return true;
  }
  // The earliest time at which an outstanding operation can have lasted that long.
  const duration rest = patience() - found.longest_wait.value_or(duration::zero());
  rests_until_ = deadline_after(now, std::max(rest, patience() / 2));
  return false;
}

}  // namespace elastic::detail

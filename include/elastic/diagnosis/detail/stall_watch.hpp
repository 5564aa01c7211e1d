// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace elastic::detail {

/// When a job counts as stalled.
struct stall_watch_options {
  /// A fixed time without a step, more than 0, whatever the length of steps. Empty: `least` or
  /// `step_factor` times the longest step so far, whichever is longer.
  std::optional<duration> stall_after = {};
  duration least = std::chrono::seconds(30);
  int step_factor = 5;
};

/// The result of an inspection of the ranks of a job.
struct stall_look {
  /// How long the oldest outstanding operation of any rank has been so. Empty: no recorder
  /// answered. Zero: all answered, and no operation is outstanding.
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
  ELASTIC_DECL explicit stall_watch(const stall_watch_options& options, time_point now);

  /// Notes a step that a rank reported. Only a step above all earlier ones counts as progress.
  /// Result: whether it ends a stall.
  ELASTIC_DECL bool step(std::int64_t number, time_point now);

  /// When to ask next; `time_point::max()` while the job is stalled.
  ELASTIC_DECL time_point wake_at() const;

  /// Whether to inspect now.
  bool wants_look(time_point now) const { return now >= wake_at(); }

  /// Takes the result of an inspection.
  /// Result: whether a stall begins now; true once for each stall.
  ELASTIC_DECL bool looked(const stall_look& found, time_point now);

  bool is_stalled() const { return is_stalled_; }

  /// When the stall began: with the oldest outstanding operation, but not before the last step;
  /// without recorders, with the last step. Only while the job is stalled.
  time_point stalled_since() const { return stalled_since_; }

  /// The time without progress after which the job counts as stalled.
  ELASTIC_DECL duration patience() const;

 private:
  ELASTIC_DECL bool shows_stall(const stall_look& found) const;

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

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/stall_watch.ipp>
#endif

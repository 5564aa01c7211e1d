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
  /// After exactly so long, above 0, whatever the length of steps. Without a value: after `least`,
  /// or `step_factor` times the longest step seen, whichever is longer, without a step.
  std::optional<duration> stall_after = {};
  duration least = std::chrono::seconds(30);
  int step_factor = 5;
};

/// What a look at the ranks of a job found.
struct stall_look {
  /// For how long the longest outstanding operation of any rank has been so; none: no recorder
  /// answered. Zero: all answered, and no operation is outstanding.
  std::optional<duration> longest_wait = {};
  /// Whether no rank used a processor for more than a few percent of the time.
  bool is_idle = false;
};

/// Decides when to look at the ranks of a job, and whether it is stalled. Pure: times and events go
/// in. The caller has one timer, at `wake_at()`, and asks again when it fires: while steps are
/// reported, no look is taken, and the timer fires once in the time after which a job is stalled.
///
/// Thread-safety: none.
class stall_watch {
 public:
  /// @param now  when the attempt began
  ELASTIC_DECL explicit stall_watch(const stall_watch_options& options, time_point now);

  /// A rank reported a step. Only one above all earlier ones is a sign of progress.
  /// Result: whether it ends a stall.
  ELASTIC_DECL bool step(std::int64_t number, time_point now);

  /// When to ask next; `time_point::max()` while the job is stalled.
  ELASTIC_DECL time_point wake_at() const;

  /// Whether to take a look now.
  bool wants_look(time_point now) const { return now >= wake_at(); }

  /// Takes what the look found.
  /// Result: whether the job is stalled from now on. True once for each stall.
  ELASTIC_DECL bool looked(const stall_look& found, time_point now);

  bool is_stalled() const { return is_stalled_; }

  /// After how long without progress the job counts as stalled.
  ELASTIC_DECL duration patience() const;

 private:
  ELASTIC_DECL bool shows_stall(const stall_look& found) const;

  stall_watch_options options_;
  time_point progressed_;
  /// No look is taken before; a look that finds no stall puts it off.
  time_point rests_until_;
  std::optional<time_point> stepped_;
  std::int64_t last_step_ = -1;
  duration longest_step_{};
  bool is_stalled_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/stall_watch.ipp>
#endif

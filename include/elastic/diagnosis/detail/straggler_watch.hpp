// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace elastic::detail {

/// When a rank is a straggler.
struct straggler_options {
  /// Its steps take more than this many times the job's.
  double ratio = 1.25;
  /// They also differ from the job's by more than this many times the usual difference between
  /// ranks.
  double deviations = 6;
  /// Both apply to the median of this many of its last steps, at most 256.
  std::size_t window = 16;
  /// Both hold for this long without a break. It stops being a straggler once they have not held
  /// for as long.
  duration patience = std::chrono::seconds(30);
  /// Ranks are compared only if at least this many report steps.
  std::size_t least_ranks = 4;
};

/// A rank that has become a straggler, or no longer is one.
struct straggler_change {
  int rank = 0;
  /// The group rank of its node.
  int group_rank = 0;
  bool is_straggler = false;
  /// The length of its steps relative to the job's median.
  double factor = 1;
  /// When it became a straggler.
  time_point since = {};
  /// Whether all ranks of its node are stragglers, and there are at least two.
  bool is_node = false;

  friend bool operator==(const straggler_change&, const straggler_change&) = default;
};

/// Compares the steps of each rank with those of the whole job. Pure: it takes reported steps and
/// returns changes. A rank's pace is the median of its last steps; the job's is the median of all
/// paces, and the usual difference is their median absolute deviation. Neither a single long step
/// nor a few slow ranks affect them.
///
/// Ranks that wait for each other within a step report steps of the same length, so none is a
/// straggler here. A profiler, or the verdict on a stall, shows which rank the others wait for.
///
/// Thread-safety: none.
class straggler_watch {
 public:
  explicit straggler_watch(const straggler_options& options = {}) : options_(options) {}

  /// Adds the duration of a step; ignores durations that are not above 0.
  ELASTIC_DECL void add(int rank, int group_rank, duration step_time);

  /// Forgets all, as a new attempt begins.
  void clear() { ranks_.clear(); }

  /// Judges all ranks. Result: the changes. 10,000 ranks take about 10 ms.
  ELASTIC_DECL std::vector<straggler_change> judge(time_point now);

 private:
  struct record {
    int group_rank = 0;
    /// The last steps in seconds, the oldest at `next` once there are as many as the window has.
    std::vector<double> steps = {};
    std::size_t next = 0;
    std::size_t added = 0;
    /// The value of `added` at the last judgement: without a new step nothing changes.
    std::size_t judged = 0;
    double pace = 0;
    bool is_straggler = false;
    /// Since when its steps contradict `is_straggler`; `time_point::max()`: they do not.
    time_point differs_since = time_point::max();
    time_point since = {};
  };

  ELASTIC_DECL std::vector<int> update(time_point now, double pace, double deviation);
  ELASTIC_DECL bool is_node(int group_rank) const;

  straggler_options options_;
  std::map<int, record> ranks_;
};

/// "rank 5 (node 2) is slow: its steps take 1.82 times the median of the job" and the like; does
/// not include the time.
ELASTIC_DECL std::string to_string(const straggler_change& change);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/straggler_watch.ipp>
#endif

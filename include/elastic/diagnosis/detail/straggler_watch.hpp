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
  /// Its steps take more than so many times the job's.
  double ratio = 1.25;
  /// And are further from the job's than so many times the usual difference between ranks.
  double deviations = 6;
  /// Over so many of its last steps, at most 256.
  std::size_t window = 16;
  /// For so long without a break; it is one until it has not been so for as long.
  duration patience = std::chrono::seconds(30);
  /// Fewer ranks that report steps are not compared.
  std::size_t least_ranks = 4;
};

/// A rank that has become a straggler, or no longer is one.
struct straggler_change {
  int rank = 0;
  /// The group rank of its node.
  int group_rank = 0;
  bool is_straggler = false;
  /// How many times the median of the job its steps take.
  double factor = 1;
  /// Since when it is one, or was.
  time_point since = {};
  /// Whether all ranks of its node are, of at least two.
  bool is_node = false;

  friend bool operator==(const straggler_change&, const straggler_change&) = default;
};

/// Judges the steps of each rank against those of the whole job. Pure: what ranks reported goes in,
/// what has changed comes out. A rank's pace is the median of its last steps; the job's is the
/// median of all paces, and the usual difference their median absolute deviation. Neither one long
/// step nor some slow ranks move them.
///
/// Ranks that wait for each other within a step report steps of one length: then nobody is a
/// straggler here, and a stall's verdict or a profiler shows who is waited for.
///
/// Thread-safety: none.
class straggler_watch {
 public:
  explicit straggler_watch(const straggler_options& options = {}) : options_(options) {}

  /// A rank has taken a step that took it so long. What is not above 0 is passed over.
  ELASTIC_DECL void add(int rank, int group_rank, duration step_time);

  /// Forgets all, as a new attempt begins.
  void clear() { ranks_.clear(); }

  /// Judges. 10,000 ranks take some 10 ms.
  ELASTIC_DECL std::vector<straggler_change> judge(time_point now);

 private:
  struct record {
    int group_rank = 0;
    /// The last steps in seconds, the oldest at `next` once there are as many as the window has.
    std::vector<double> steps = {};
    std::size_t next = 0;
    std::size_t added = 0;
    /// What `added` was when it was judged last: without a step nothing changes.
    std::size_t judged = 0;
    double pace = 0;
    bool is_straggler = false;
    /// Since when it looks other than `is_straggler` says; `time_point::max()`: it does not.
    time_point differs_since = time_point::max();
    time_point since = {};
  };

  ELASTIC_DECL std::vector<int> update(time_point now, double pace, double deviation);
  ELASTIC_DECL bool is_node(int group_rank) const;

  straggler_options options_;
  std::map<int, record> ranks_;
};

/// "rank 5 (node 2): its steps take 1.82 times the job's" and so on, without its time.
ELASTIC_DECL std::string to_string(const straggler_change& change);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/straggler_watch.ipp>
#endif

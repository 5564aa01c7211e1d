// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace elasticrun {

/// How far a job is, in one line: "round 2 | 8 workers on 2 nodes | restarts 1/3 | step 120/400
/// 30% | 3.1/s, 0:01:30 left | loss 0.31". A value without a terminal and a clock: who shows it
/// tells it both.
///
/// The slowest worker of this node counts: the steps of a job are taken together, and one that
/// reports nothing is not waited for.
class progress_line {
 public:
  void started(const elastic::started_workers& job);
  void progress(const elastic::worker_progress& made, elastic::time_point now);

  /// Whether a worker of the attempt of now has reported something.
  bool has_progress() const { return !workers_.empty(); }

  /// The line in at most `width` columns; what does not fit is left out from the end.
  std::string text(std::size_t width) const;

 private:
  struct sample {
    elastic::time_point at;
    std::int64_t step;
  };

  const elastic::worker_progress& slowest() const;
  std::vector<std::string> parts() const;
  static std::string steps(const elastic::worker_progress& made);

  /// Steps a second, and how long it takes at that rate.
  std::string speed(const elastic::worker_progress& made) const;

  /// "1:02:03", "12 days".
  static std::string clock_text(double seconds);

  elastic::started_workers job_;
  /// What each said last, by local rank.
  std::map<int, elastic::worker_progress> workers_;
  /// Of the slowest, the oldest first.
  std::deque<sample> samples_;
};

}  // namespace elasticrun

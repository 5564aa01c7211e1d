// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/agent/agent_part.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace elasticrun {

/// The progress of a job in one line: "round 2 | 8 workers on 2 nodes | restarts 1/3 | step 120/400
/// 30% | 3.1/s, 0:01:30 left | loss 0.31". A pure value: the caller passes the time and the width
/// of the terminal.
///
/// It shows the slowest worker of this node that has reported a step, since all workers of a job
/// take each step together.
class progress_line {
 public:
  void started(const elastic::agent_part::started_workers& job);
  void progress(const elastic::worker_progress& made, elastic::time_point now);
  /// The condition of the job while its workers make no steps: it replaces the speed, which does
  /// not hold then. Empty: they make steps.
  void condition(std::string text) { condition_ = std::move(text); }

  /// Whether a worker of the current attempt has reported a step.
  bool has_progress() const { return !workers_.empty(); }

  /// The line in at most `width` columns, without the parts at its end that do not fit.
  std::string text(std::size_t width) const;

 private:
  struct sample {
    elastic::time_point time;
    std::int64_t step;
  };

  const elastic::worker_progress& slowest() const;
  std::vector<std::string> parts() const;
  static std::string steps(const elastic::worker_progress& made);

  /// The steps per second, and the remaining time at this rate.
  std::string speed(const elastic::worker_progress& made) const;

  /// "1:02:03", "12 days".
  static std::string clock_text(double seconds);

  elastic::agent_part::started_workers job_;
  /// The last report of each worker, by local rank.
  std::map<int, elastic::worker_progress> workers_;
  /// The recent steps of the slowest worker, the oldest first.
  std::deque<sample> samples_;
  std::string condition_;
};

}  // namespace elasticrun

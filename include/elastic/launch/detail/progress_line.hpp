// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace elastic::detail {

/// How far a job is, in one line: "round 2 | 8 workers on 2 nodes | restarts 1/3 | step 120/400
/// 30% | 3.1/s, 0:01:30 left | loss 0.31". A value without a terminal and a clock: who shows it
/// tells it both.
///
/// The slowest worker of this node counts: the steps of a job are taken together, and one that
/// reports nothing is not waited for.
class progress_line {
 public:
  ELASTIC_DECL void started(const started_workers& job);
  ELASTIC_DECL void progress(const worker_progress& made, time_point now);

  /// Whether a worker of the attempt of now has reported something.
  bool has_progress() const { return !workers_.empty(); }

  /// The line in at most `width` columns; what does not fit is left out from the end.
  ELASTIC_DECL std::string text(std::size_t width) const;

 private:
  struct sample {
    time_point at;
    std::int64_t step;
  };

  ELASTIC_DECL const worker_progress& slowest() const;
  ELASTIC_DECL std::vector<std::string> parts() const;
  ELASTIC_DECL static std::string steps(const worker_progress& made);

  /// Steps a second, and how long it takes at that rate.
  ELASTIC_DECL std::string speed(const worker_progress& made) const;

  /// "1:02:03", "12 days".
  ELASTIC_DECL static std::string clock_text(double seconds);

  started_workers job_;
  /// What each said last, by local rank.
  std::map<int, worker_progress> workers_;
  /// Of the slowest, the oldest first.
  std::deque<sample> samples_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/progress_line.ipp>
#endif

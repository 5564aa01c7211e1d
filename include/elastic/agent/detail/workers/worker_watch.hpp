// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// A sample of a worker.
struct worker_sample {
  /// The processor time of its processes so far; empty: unknown.
  std::optional<duration> processor_time = {};
  std::size_t processes = 0;
  /// A process that a signal or a debugger has stopped, and one in uninterruptible sleep; 0: none.
  pid_t stopped = 0;
  pid_t blocked = 0;
  /// Its output so far, in bytes, as far as that is known.
  std::uint64_t written = 0;
  /// The last step that it reported, and when it first reported it; -1: none.
  std::int64_t step = -1;
  time_point step_at{};
};

/// The beginning or the end of a suspicion about a worker.
struct suspicion_change {
  std::size_t local_rank = 0;
  job_event::suspicion suspicion = job_event::suspicion::none;
  /// The reason, as a clause.
  std::string reason = {};
};

/// Judges from samples of a node's workers which of them hold up the others. Pure: it takes samples
/// and the time, and returns what has changed.
///
/// - **Stopped**: by a signal or a debugger, in two samples in a row.
/// - **Blocked**: in uninterruptible sleep, without processor use, for six periods.
/// - **Idle**: no activity for six periods (no step, no output, no process started or ended, less
///   than 2 % of a processor) while at least half of the others worked (a step, or 20 %).
/// - **Slow**: if at least three workers report steps, it takes more than `straggler_ratio` times
///   the median time for a step, in three samples in a row. If none reports steps, it used less
///   than half of the median processor time for twelve periods, with a median of at least 50 %.
class worker_watch {
 public:
  /// @param period  the time between two samples
  explicit worker_watch(duration period = std::chrono::seconds(5)) : period_(period) {}

  /// @param sights  by local rank; empty for a worker that does not run
  ELASTIC_DECL std::vector<suspicion_change> look(
      const std::vector<std::optional<worker_sample>>& sights, time_point now);

 private:
  struct record {
    std::optional<worker_sample> last = {};
    /// How long each state has lasted.
    duration stopped{};
    duration blocked{};
    duration idle{};
    duration slow{};
    duration quick{};
    /// Its smoothed time for a step, in seconds; 0: unknown.
    double pace = 0;
    job_event::suspicion suspicion = job_event::suspicion::none;
    // Since the last sample:
    bool is_compared = false;
    /// Its share of one processor; empty: unknown.
    std::optional<double> share = {};
    bool is_active = false;
    bool works = false;
  };
  struct crowd;

  ELASTIC_DECL static void compare(record& entry, const worker_sample& sight, duration span);
  ELASTIC_DECL crowd survey() const;
  ELASTIC_DECL void count(record& entry, const worker_sample& sight, const crowd& others,
                          duration span) const;
  ELASTIC_DECL job_event::suspicion judge(const record& entry, const crowd& others) const;
  ELASTIC_DECL static std::string relief_of(job_event::suspicion former, const crowd& others);
  ELASTIC_DECL static std::string reason_of(const record& entry, const worker_sample& sight,
                                            const crowd& others);

  duration period_;
  std::vector<record> records_;
  std::optional<time_point> looked_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/worker_watch.ipp>
#endif

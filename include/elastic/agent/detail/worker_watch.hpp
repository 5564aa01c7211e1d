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

/// How a worker looks at one moment.
struct worker_sight {
  /// What its processes have used so far; none: nobody can say.
  std::optional<duration> processor_time = {};
  std::size_t processes = 0;
  /// One of them that a signal or a debugger has stopped, and one in uninterruptible sleep; 0:
  /// none.
  pid_t stopped = 0;
  pid_t blocked = 0;
  /// What it wrote so far, as far as that is known, in bytes.
  std::uint64_t written = 0;
  /// The last step that it reported, and when it first did; -1: none.
  std::int64_t step = -1;
  time_point step_at{};
};

/// A worker that has begun or ceased to look as if something were wrong with it.
struct suspicion_change {
  std::size_t local_rank = 0;
  job_event::suspicion suspicion = job_event::suspicion::none;
  /// Why: half a sentence.
  std::string reason = {};
};

/// Judges by looks at the workers of a node which of them hold up the others. Pure: what was seen
/// and the time go in, what has changed comes out.
///
/// - **Stopped**: by a signal or a debugger, at two looks in a row.
/// - **Blocked**: in uninterruptible sleep, and used no processor, for six periods.
/// - **Idle**: did nothing for six periods (no step, no output, no process that came or went, less
///   than 2 % of a processor) while at least half of the others worked (a step, or 20 %).
/// - **Slow**: for three workers at least that report steps, it takes more than `straggler_ratio`
///   times the median for one, at three looks in a row. Where none reports any, it got less than
///   half of the median of processor time for twelve periods, of a median of at least 50 %.
class worker_watch {
 public:
  /// @param period  between two looks
  explicit worker_watch(duration period = std::chrono::seconds(5)) : period_(period) {}

  /// @param sights  by local rank; none of a worker that does not run
  ELASTIC_DECL std::vector<suspicion_change> look(
      const std::vector<std::optional<worker_sight>>& sights, time_point now);

 private:
  struct record {
    std::optional<worker_sight> last = {};
    /// For how long it has looked so.
    duration stopped{};
    duration blocked{};
    duration idle{};
    duration slow{};
    duration quick{};
    /// What a step takes it, in seconds, smoothed; 0: not known.
    double pace = 0;
    job_event::suspicion suspicion = job_event::suspicion::none;
    // Since the last look:
    bool is_compared = false;
    /// Of a processor; none: not known.
    std::optional<double> share = {};
    bool is_active = false;
    bool works = false;
  };
  struct crowd;

  ELASTIC_DECL static void compare(record& entry, const worker_sight& sight, duration span);
  ELASTIC_DECL crowd survey() const;
  ELASTIC_DECL void count(record& entry, const worker_sight& sight, const crowd& others,
                          duration span) const;
  ELASTIC_DECL job_event::suspicion judge(const record& entry, const crowd& others) const;
  ELASTIC_DECL static std::string relief_of(job_event::suspicion former, const crowd& others);
  ELASTIC_DECL static std::string reason_of(const record& entry, const worker_sight& sight,
                                            const crowd& others);

  duration period_;
  std::vector<record> records_;
  std::optional<time_point> looked_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/worker_watch.ipp>
#endif

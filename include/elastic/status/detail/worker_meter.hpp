// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/viewed_worker.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// What /proc shows of a worker.
struct worker_reading {
  /// The processor time so far of its process and of those that it has started; empty: there are
  /// too many of them.
  std::optional<duration> processor_time = {};
  /// The memory of its process without what it shares with others.
  std::int64_t memory_bytes = 0;
};

/// Empty: there is no such process. Takes about 50 µs, and 5 µs for each thread.
ELASTIC_DECL std::optional<worker_reading> read_process_usage(pid_t pid);

/// Measures the workers of this node when somebody looks at them. It takes at most a hundredth of
/// the time: if there are many workers, a look measures some, and the next one goes on with others.
///
/// Thread-safety: one thread at a time.
class worker_meter {
 public:
  /// The worker of a local rank.
  using measured = std::pair<std::size_t, worker_usage>;

  /// @param read  reads a process
  explicit worker_meter(
      std::function<std::optional<worker_reading>(pid_t)> read = read_process_usage)
      : read_(std::move(read)) {}

  /// Measures workers that run; none if the last look was less than 2 s ago, or a hundred times as
  /// long as it took.
  ELASTIC_DECL std::vector<measured> look(const std::vector<viewed_worker>& workers,
                                          const time_source& time);

 private:
  struct former_reading {
    std::int64_t pid = 0;
    std::optional<duration> processor_time = {};
    time_point at = {};
  };

  ELASTIC_DECL std::optional<worker_usage> measure(std::size_t place, std::int64_t pid,
                                                   time_point now);

  std::function<std::optional<worker_reading>(pid_t)> read_;
  /// By local rank.
  std::vector<former_reading> former_;
  /// The worker that comes first at the next look, and its time.
  std::size_t next_ = 0;
  std::optional<time_point> due_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/worker_meter.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace elastic {

/// A worker whose steps take longer than this times the median is a straggler.
inline constexpr double straggler_ratio = 1.25;

/// Notified when workers start, and of what they report over the control channel. Implement it to
/// show progress, or to inspect a hung worker before it is killed.
///
/// Thread-safety: called on the strand of the agent, which waits meanwhile. So return quickly.
class worker_observer {
 public:
  /// The progress that a worker reports.
  struct worker_progress {
    int rank = 0;
    int local_rank = 0;
    std::int64_t step = 0;
    /// The total number of steps; 0: unknown.
    std::int64_t total = 0;
    /// Free text of the worker, without control characters.
    std::string text;
    std::map<std::string, double> metrics;
  };

  /// The workers of this node have started or restarted.
  struct started_workers {
    /// The rendezvous round in which they run.
    std::int64_t round = 0;
    int world_size = 0;
    /// The number of nodes, and the rank of this one.
    int group_rank = 0;
    int group_world_size = 0;
    int restarts = 0;
    int max_restarts = 0;
    /// How many workers of this node continue from the previous round; 0: all were started.
    int stayed = 0;
    /// The ranks of this node that were replaced while other workers of the job continued.
    std::vector<int> replaced = {};
  };

  /// A worker that is about to be killed because it is hung.
  struct hung_worker {
    int rank = 0;
    int local_rank = 0;
    pid_t pid = 0;
    /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
    std::string reason;
  };

  virtual ~worker_observer() = default;

  /// Exceptions of these functions are logged and otherwise ignored.
  virtual void started(const started_workers&) {}
  virtual void progress(const worker_progress&) {}
  virtual void hung(const hung_worker&) {}
};

}  // namespace elastic

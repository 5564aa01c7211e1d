// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_state.hpp>

#include <cstdint>
#include <string>

namespace elastic::detail {

/// What a worker uses of its node.
struct worker_usage {
  /// The processors that its process and those that it has started used, on average between two
  /// looks; below 0: not known.
  double processors = -1;
  /// The memory of its process without what it shares with others; 0: not known.
  std::int64_t memory_bytes = 0;

  friend bool operator==(const worker_usage&, const worker_usage&) = default;
};

/// A worker as the journal tells of it, and as it tells of itself.
struct viewed_worker : job_worker {
  /// The last step that it reported, of how many (0: not known), and when; -1: none.
  std::int64_t step = -1;
  std::int64_t total = 0;
  std::int64_t progress_us = 0;
  /// The time of its first report of that step.
  std::int64_t step_us = 0;
  /// Text of the worker's.
  std::string text = {};
  /// The duration of its steps, smoothed; 0: not known.
  double step_seconds = 0;
  /// As it was when somebody last looked.
  worker_usage usage = {};
};

}  // namespace elastic::detail

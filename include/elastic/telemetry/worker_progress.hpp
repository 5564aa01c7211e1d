// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace elastic {

/// A worker whose steps take longer than this times the median is a straggler.
inline constexpr double straggler_ratio = 1.25;

/// The progress that a worker reports over the control channel.
struct worker_progress {
  int rank = 0;
  int local_rank = 0;
  std::int64_t step = 0;
  /// The total number of steps; 0: unknown.
  std::int64_t total = 0;
  /// Free text of the worker, without control characters.
  std::string text = {};
  std::map<std::string, double> metrics = {};
  /// False: the worker has reported this step before.
  bool is_new = true;
};

}  // namespace elastic

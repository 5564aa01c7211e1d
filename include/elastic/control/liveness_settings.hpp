// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>

namespace elastic {

/// How long a worker may send nothing before it counts as hung. Zero means forever.
struct liveness_settings {
  /// From its start to its first heartbeat.
  duration first_heartbeat_timeout{};
  /// From one heartbeat to the next. A worker's own comes first; with max() no rule counts at all.
  duration heartbeat_timeout{};
  /// If no time-out is set: the longest time observed between two heartbeats, and for each section
  /// its longest duration, times this factor. 0: time-outs are not learned; otherwise at least 1.
  double learn_timeouts = 0;
  /// The shortest learned time-out.
  duration least_learned = std::chrono::seconds(1);
};

}  // namespace elastic

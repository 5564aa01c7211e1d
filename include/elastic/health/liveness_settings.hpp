// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>

namespace elastic {

/// After how long a worker that says nothing counts as hung. Zero means: never.
struct liveness_settings {
  /// From its start to its first heartbeat.
  duration first_heartbeat_timeout{};
  /// From one heartbeat to the next. What a worker names itself comes before it.
  duration heartbeat_timeout{};
  /// Where nothing was named: the longest time seen between two heartbeats, and for each section
  /// the longest that it took, times this factor; 0: nothing is learned. At least 1 otherwise.
  double learn_timeouts = 0;
  /// What is learned is never shorter than this.
  duration least_learned = std::chrono::seconds(1);
};

}  // namespace elastic

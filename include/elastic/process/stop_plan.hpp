// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <csignal>

namespace elastic {

/// How to stop processes: by a signal and, after a grace period, by SIGKILL.
struct stop_plan {
  /// The first signal. SIGKILL kills the processes at once.
  int signal = SIGTERM;
  /// The grace period, common to all processes. Zero or less kills them at once.
  duration grace = std::chrono::seconds(30);

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

}  // namespace elastic

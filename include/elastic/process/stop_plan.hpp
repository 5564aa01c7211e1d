// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <csignal>

namespace elastic {

/// How processes are stopped: asked by a signal, killed when their grace is over.
struct stop_plan {
  /// What they are asked by. SIGKILL does not ask: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take, all together. Zero or less: they are killed at once.
  duration grace = std::chrono::seconds(30);

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

}  // namespace elastic

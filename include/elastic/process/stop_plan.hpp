// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <csignal>

namespace elastic {

/// Whom the first signal of a stop reaches. SIGKILL always reaches everyone.
enum class signal_scope {
  /// Each process alone, so that what it has started works on while it saves its work. After half
  /// of the grace period, what is left of its session gets the signal, too: the process may be a
  /// shell that does not pass it on. No process gets it twice.
  process,
  /// Each process and its process group.
  group,
};

/// How to stop processes: by a signal and, after a grace period, by SIGKILL.
struct stop_plan {
  /// The first signal. SIGKILL kills the processes at once.
  int signal = SIGTERM;
  /// The grace period, common to all processes. Zero or less kills them at once.
  duration grace = std::chrono::seconds(30);
  /// Whom the signal reaches.
  signal_scope scope = signal_scope::process;

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

}  // namespace elastic

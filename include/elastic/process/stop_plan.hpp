// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <csignal>

namespace elastic {

/// The receivers of the first signal of a stop. SIGKILL always reaches all processes.
enum class signal_scope {
  /// Each process alone, so that the processes that it has started keep working while it saves its
  /// work. After half of the grace period, the rest of its session receives the signal, too: the
  /// process may be a shell that does not pass it on. No process receives it twice.
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
  /// The receivers of the signal.
  signal_scope scope = signal_scope::process;

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

}  // namespace elastic

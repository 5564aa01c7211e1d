// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/process/processor_set.hpp>

#include <string>
#include <vector>

namespace elastic {

/// What to run: program, arguments, environment and streams.
struct process_spec {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  process_spec() = default;

  /// A path, or a name that is looked up in the PATH of `environment`.
  std::string program;
  /// The arguments after the program's own name.
  std::vector<std::string> arguments;
  /// The whole environment, each entry "NAME=value"; nothing is added to it.
  std::vector<std::string> environment;
  /// The working directory; empty keeps the caller's.
  std::string directory;
  /// The descriptors that become 0, 1 and 2 of the process; -1 uses the caller's. They are
  /// borrowed: the caller closes its copies after the start. No other descriptor is inherited.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  /// A descriptor that becomes `passed_number` of the process, borrowed in the same way; -1: none.
  int passed_fd = -1;
  static constexpr int passed_number = 5;
  /// The slot in which the process starts, such as a task of a scheduler, for a launcher that has
  /// several slots. Other launchers ignore it.
  int slot = 0;
  /// The processors on which it may run; empty keeps the caller's.
  processor_set processors = {};
  /// Signals that it ignores until it handles them itself; all others have their default handling.
  /// The start refuses numbers that no signal has.
  std::vector<int> ignored_signals = {};
  /// How long the processes that it leaves behind may take to end by themselves, after it has ended
  /// without being killed by its owner, before they are killed; at most `limits::linger`. 0: they
  /// are killed at once, except for helpers that clean up.
  duration linger = duration::zero();
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <vector>

namespace elastic {

/// One started process and what it started in turn: its tree.
///
/// The destructor never waits: a tree that is still alive is killed, and what the kernel then
/// still has to do goes on without us.
/// Thread-safety: one strand at a time, the one on which it was launched.
class child {
 public:
  virtual ~child() = default;

  virtual pid_t pid() const noexcept = 0;

  /// Sends a signal to the process and its process group. After the process has ended: does
  /// nothing. Result: whether it had not ended.
  virtual bool signal(int number) noexcept = 0;

  /// Waits until the process itself has ended; its descendants may live on (see `end_tree`).
  /// May be called again, also after its end; one waiter at a time.
  ///
  /// Cancellation: all types; ends the wait, not the process.
  virtual task<exit_status> wait() = 0;

  /// Kills what is left of the tree, the process included if it still runs, and waits until it is
  /// gone. To be awaited before anything takes the process's place.
  ///
  /// Cancellation: all types; the kill was sent already.
  virtual task<void> end_tree() = 0;

  /// The processes of the tree that have not ended, as far as they can be found: what `end_tree`
  /// waits for. It looks through /proc.
  virtual std::vector<pid_t> left() { return {pid()}; }
};

}  // namespace elastic

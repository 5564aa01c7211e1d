// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace elastic {

/// A started process and its descendants: its tree.
///
/// The destructor never waits: it kills a tree that is still alive, and does not wait until the
/// kernel has removed it.
/// Thread-safety: one strand at a time, the one on which it was launched.
class ELASTIC_EXPORT child {
 public:
  /// A process that was left behind and was killed.
  struct leftover {
    pid_t pid = 0;
    /// Its arguments, separated by blanks, without control characters, and cut off after
    /// `limits::shown_command_bytes`.
    std::string command;
  };

  virtual ~child() = default;

  virtual pid_t pid() const noexcept = 0;

  /// Sends a signal to the process and its process group. If the process has ended, it does
  /// nothing, except that SIGKILL also ends the time for which the processes left behind may
  /// linger.
  /// Result: true if the process had not ended.
  virtual bool signal(int number) noexcept = 0;

  /// Sends a signal to the process alone. Default: `signal`.
  /// Result: as of `signal`.
  virtual bool signal_process(int number) noexcept { return signal(number); }

  /// Sends a signal to the other processes of its session, if it has not ended. Default: does
  /// nothing, since the default of `signal_process` has reached them.
  virtual void signal_others(int number) noexcept { static_cast<void>(number); }

  /// Waits until the process itself has ended; its descendants may live on (see `end_tree`). May be
  /// called again, even after its end; one waiter at a time.
  ///
  /// Cancellation: all types; ends the wait, not the process.
  virtual task<exit_status> wait() = 0;

  /// Kills everything left of the tree, including the process if it still runs, and waits until it
  /// is gone. If the process has ended by itself, what it left behind may linger first
  /// (`process_spec::linger`), until `signal(SIGKILL)`. Await it before another process takes its
  /// slot.
  ///
  /// Cancellation: all types; the tree has already been killed.
  virtual task<void> end_tree() = 0;

  /// The processes of the tree that have not ended and that /proc shows. `end_tree` waits for them.
  virtual std::vector<pid_t> left() { return {pid()}; }

  /// The processes that were left behind when the process ended by itself, and that `end_tree` has
  /// killed: the first `limits::named_leftovers` of them, and one with the pid 0 if there were
  /// more.
  virtual std::vector<leftover> killed_leftovers() const { return {}; }
};

}  // namespace elastic

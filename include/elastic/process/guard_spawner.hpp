// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/spawn.hpp>

#include <optional>

namespace elastic {

/// Starts guards as children of other processes of this host, for a `guarded_launcher`, which holds
/// their sockets and pidfds all the same: it watches and signals their workers as those of its own
/// guards. Programs use the one of the module slots (`add_slots`).
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT guard_spawner {
 public:
  virtual ~guard_spawner() = default;

 private:
  friend class guarded_launcher;

  // Starts a guard as `detail::spawn` does, but gives it the pidfd of its parent instead of that in
  // the request. What the request refers to exists until the task has ended.
  //
  // Result: as of `detail::spawn`, with the guard's pidfd. Empty: this process is to start it.
  // Errors: `errc::start_failed` if the other process has ended; `errc::invalid_argument` if it
  // cannot take the request. Cancellation: all types; a guard that was started ends when its socket
  // is closed.
  virtual task<std::optional<detail::spawn_result>> spawn(detail::spawn_request request) = 0;
};

}  // namespace elastic

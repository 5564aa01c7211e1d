// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/spawn.hpp>

#include <optional>

namespace elastic {

/// Starts guards as children of other processes on this host, for a `guarded_launcher`. The
/// launcher still holds their sockets and pidfds, so it watches and signals their workers like
/// those of its own guards. elasticrun has an implementation for the tasks of a scheduler
/// (`add_slots`).
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT guard_spawner {
 public:
  virtual ~guard_spawner() = default;

 private:
  friend class guarded_launcher;

  // Starts a guard as `detail::spawn` does, but gives it the pidfd of its parent instead of that in
  // the request. Everything that the request refers to outlives the task.
  //
  // Result: as of `detail::spawn`, with the guard's pidfd. Empty: the launcher starts the guard
  // itself. Errors: `errc::start_failed` if the other process has ended; `errc::invalid_argument`
  // if it cannot take the request. Cancellation: all types; a guard that was started ends when its
  // socket is closed.
  virtual task<std::optional<detail::spawn_result>> spawn(detail::spawn_request request) = 0;
};

}  // namespace elastic

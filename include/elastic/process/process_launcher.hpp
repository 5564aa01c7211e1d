// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/process_spec.hpp>

#include <memory>

namespace elastic {

/// Starts processes. Implement it to start workers elsewhere (for example in a container), or, in
/// tests, to start none.
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT process_launcher {
 public:
  virtual ~process_launcher() = default;

  /// Starts one process in a new session.
  ///
  /// Result: the running process; `execve` has succeeded when this returns.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::file_access` (no
  /// such working directory), `errc::start_failed`, `errc::invalid_argument` (a zero byte within an
  /// argument); each message names the file.
  /// Cancellation: all types; either nothing was started or the result is returned. May be called
  /// again while an earlier call is in progress.
  virtual task<std::unique_ptr<child>> launch(process_spec spec) = 0;
};

}  // namespace elastic

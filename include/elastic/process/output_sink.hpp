// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <string_view>

namespace elastic {

/// Shows output that was copied from processes. Implement it to show output elsewhere.
///
/// Thread-safety: `write` must be callable from every strand whose processes write to it.
class ELASTIC_EXPORT output_sink {
 public:
  virtual ~output_sink() = default;

  /// Writes all of `bytes`, which are valid until it returns, before the bytes of any later call.
  /// They are complete lines, often several at a time, with two exceptions: a stream without a
  /// prefix, and a line longer than `limits::copy_line_bytes`. A slow sink makes the processes
  /// wait, not the event loop.
  ///
  /// Errors: none; output that cannot be shown is dropped. A sink that throws receives no more
  /// output of that process, and the log says so.
  /// Cancellation: all types; a part may have been written.
  virtual task<void> write(std::string_view bytes) = 0;

  /// The stream whose bytes were written last has ended in the middle of a line. A sink that shows
  /// several streams begins a new line before it shows anything else. By default nothing happens.
  ///
  /// Errors: none. Thread-safety: as `write`.
  virtual void break_line() {}
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <string_view>

namespace elastic {

/// Where output that was copied from processes is shown. Implement it to show it elsewhere.
///
/// Thread-safety: `write` must be callable from every strand whose processes write to it.
class output_sink {
 public:
  virtual ~output_sink() = default;

  /// Writes all of `bytes`, which stay valid until it returns, before the bytes of any later call.
  /// Lines come whole and several at a time (a stream without prefix, and the end of one that
  /// ends without a line end, excepted). Taking long makes the processes wait, not the loop.
  ///
  /// Errors: none; what cannot be shown is dropped. A sink that throws is given up: it gets no more
  /// output of that process, and the log says so.
  /// Cancellation: all types; a part may have been written.
  virtual task<void> write(std::string_view bytes) = 0;
};

}  // namespace elastic

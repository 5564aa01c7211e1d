// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/detail/stack_frame.hpp>

#include <string_view>
#include <vector>

namespace elastic::detail {

/// The Python stack of one thread.
struct thread_stack {
  /// Innermost frame first, at most `limits::stack_frames`; empty if the thread runs no Python.
  std::vector<stack_frame> frames = {};
  /// Whether it is the thread that wrote the text.
  bool is_current = false;

  friend bool operator==(const thread_stack&, const thread_stack&) = default;
};

/// Parses the text of Python's `faulthandler`, which PyTorch's `dump_traceback` also returns.
/// Unknown lines are skipped: new releases of Python add some.
///
/// Result: the threads in the order of the text, from the newest one to the main thread; if there
/// are more than `limits::stack_threads`, the last ones.
/// Errors: `errc::protocol_violation` if the text contains no thread or exceeds
/// `limits::traceback_bytes`.
ELASTIC_DECL std::vector<thread_stack> parse_traceback(std::string_view text);

/// The stack of the main thread, the last one in the text. Empty if the text ends before it
/// ("..."), as for a process with more than a hundred threads.
///
/// Errors: those of `parse_traceback`.
ELASTIC_DECL std::vector<stack_frame> parse_main_stack(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/thread_stack.ipp>
#endif

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

/// Reads the text of Python's `faulthandler`, which PyTorch's `dump_traceback` answers, too. Lines
/// that it does not know are passed over: Python adds some from release to release.
///
/// Result: the threads in the order of the text, from the newest one to the main thread; at most
/// `limits::stack_threads`, of more the last.
/// Errors: `errc::protocol_violation` if it names no thread or is above `limits::traceback_bytes`.
ELASTIC_DECL std::vector<thread_stack> parse_traceback(std::string_view text);

/// The stack of the main thread: of the last one in the text. Empty if the text ends before it
/// ("..."), as that of a process with more than a hundred threads does.
///
/// Errors: those of `parse_traceback`.
ELASTIC_DECL std::vector<stack_frame> parse_main_stack(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/thread_stack.ipp>
#endif

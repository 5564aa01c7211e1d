// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/log_file.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic {

class output_sink;

/// Where one output stream of a process goes.
struct output_plan {
  /// Lines of a stream that are also copied to another file, which several streams may share.
  struct matching_lines {
    /// Selects lines that contain any of these texts; empty: no lines.
    std::vector<std::string> filters = {};
    /// The prefix of every line; with `output_plan::json`, the start of its object.
    line_head prefix = {};
    /// Where the lines go; must be used on one strand only.
    std::shared_ptr<log_file> file = {};
  };

  enum class how {
    /// The same destination as this process's own stream.
    inherit,
    /// Discarded.
    null,
    /// `file`, which the process writes directly.
    file,
    /// A pipe to this process, which writes the bytes first to `file` and then to the console.
    copy,
  };
  how kind = how::inherit;
  /// file: the file that the process writes. copy: the file that is written before the console;
  /// empty: no file. It is truncated first; its directory must exist.
  std::string file = {};
  /// copy: when `file` is rotated.
  log_file::rotation rotation = {};
  /// copy: the prefix of every line on the console. Empty: bytes are passed through unchanged and
  /// immediately, not line by line.
  line_head prefix = {};
  /// copy: each line is shown as a JSON object, which begins with `prefix` (such as `{"rank":0,`)
  /// and ends with the member "text": the line without its end, as UTF-8 with invalid bytes
  /// replaced. A piece of a longer line (see `tee`) is an object with "more":true.
  bool json = false;
  /// copy: whether the console shows the stream.
  bool console = true;
  /// copy: the console of this stream; null: that of the process set.
  std::shared_ptr<output_sink> sink = {};
  /// copy: lines that are also copied elsewhere.
  matching_lines matches = {};
  /// file and copy: remember the last lines (`limits::report_stderr_lines`) for a report.
  bool keep_tail = false;
};

namespace detail {

ELASTIC_DECL unique_fd open_null(const syscalls& calls);

/// A pipe whose read end never blocks.
struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

/// One stream opened for the start of a process.
struct opened_stream {
  /// The process's end, -1 for `inherit`; to be closed after the start.
  unique_fd process_end;
  /// copy: the pipe to read from, and the file to write to (null: none).
  unique_fd pipe;
  std::shared_ptr<log_file> file;
  /// Whether closing the process's end may block as opening it did, so that it needs a thread.
  bool closes_on_thread = false;

  opened_stream() = default;
  opened_stream(opened_stream&&) = default;
  opened_stream& operator=(opened_stream&&) = default;
  ELASTIC_DECL ~opened_stream();
};

/// Opens what a plan needs. A file that may hang and is copied to is opened when it is first
/// written.
/// Errors: `errc::file_access` naming the path, `errc::start_failed`.
ELASTIC_DECL opened_stream open_stream(const output_plan& plan,
                                       const syscalls& calls = real_syscalls,
                                       bool file_may_hang = false);

/// The same; a file that may hang and that the process writes is opened on a thread.
/// Cancellation: all types, at once; the open continues on its thread, and its result is closed.
ELASTIC_DECL task<opened_stream> open_stream_on_thread(output_plan plan, const syscalls& calls,
                                                       bool file_may_hang);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/stdio.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/detail/unique_fd.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/log_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// Lines of a stream that go to one more file, which several streams may share.
struct matching_lines {
  /// A line that contains any of these texts is meant; none: no line is.
  std::vector<std::string> filters;
  /// Put before every line; with `output_plan::json` the start of its object.
  line_head prefix;
  /// Where the lines go; must be used on one strand only.
  std::shared_ptr<log_file> file;
};

/// Where one output stream of a process goes.
struct output_plan {
  enum class how {
    /// To the same place as this process's own.
    inherit,
    /// Nowhere.
    null,
    /// To `file`, which the process writes itself.
    file,
    /// Through a pipe to this process, which writes it to `file` first and then to the console.
    copy,
  };
  how kind = how::inherit;
  /// file: what the process writes. copy: what is written before the console; empty: no file.
  /// Emptied first; its directory must exist.
  std::string file;
  /// copy: when `file` is full.
  log_rotation rotation;
  /// copy: put before every line on the console. Empty: the bytes pass through as they are and at
  /// once, not line by line.
  line_head prefix;
  /// copy: each line is shown as a JSON object, which begins with `prefix` (such as `{"rank":0,`)
  /// and ends with the member "text": the line without its end, as UTF-8 in which bytes that are
  /// none were replaced. A piece of a longer line (see `tee`) is an object that says "more":true.
  bool json = false;
  /// copy: whether the console gets it at all.
  bool console = true;
  /// copy: lines that are also copied elsewhere.
  matching_lines matches;
  /// file and copy: remember the last lines (`limits::report_stderr_lines`) for a report.
  bool keep_tail = false;
};

namespace detail {

inline unique_fd open_null(const syscalls& calls) {
  unique_fd file(
      uninterrupted([&] { return calls.open("/dev/null", O_RDWR | O_CLOEXEC, 0); }));
  if (!file) {
    throw error(errc::file_access,
                fmt::format("'/dev/null' cannot be opened: {}", errno_text(errno)));
  }
  return file;
}

/// A pipe whose read end never blocks.
struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

inline pipe_ends open_pipe(const syscalls& calls) {
  int fds[2];
  if (calls.pipe(fds) != 0) {
    throw error(errc::start_failed,
                fmt::format("a pipe for the output cannot be made: {}", errno_text(errno)));
  }
  pipe_ends pipe{unique_fd(fds[0]), unique_fd(fds[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// One stream opened for the start of a process.
struct opened_stream {
  /// The process's end, -1 for `inherit`; to be closed after the start.
  unique_fd process_end;
  /// copy: the pipe to read from, and the file to write to (null: none).
  unique_fd pipe;
  std::shared_ptr<log_file> file;
};

/// Opens what a plan needs. Errors: `errc::file_access` naming the path, `errc::start_failed`.
inline opened_stream open_stream(const output_plan& plan, const syscalls& calls = real_syscalls) {
  opened_stream stream;
  switch (plan.kind) {
    case output_plan::how::inherit: break;
    case output_plan::how::null: stream.process_end = open_null(calls); break;
    case output_plan::how::file: stream.process_end = open_log_file(plan.file, calls); break;
    case output_plan::how::copy: {
      if (!plan.file.empty()) stream.file = log_file::open(plan.file, plan.rotation, calls);
      pipe_ends pipe = open_pipe(calls);
      stream.pipe = std::move(pipe.read);
      stream.process_end = std::move(pipe.write);
      break;
    }
  }
  return stream;
}

}  // namespace detail

}  // namespace elastic

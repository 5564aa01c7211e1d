// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/detail/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

namespace elastic {

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
  /// copy: put before every line on the console. Empty: the bytes pass through as they are and at
  /// once, not line by line.
  std::string prefix;
  /// copy: whether the console gets it at all.
  bool console = true;
  /// file and copy: remember the last lines (`limits::report_stderr_lines`) for a report.
  bool keep_tail = false;
};

namespace detail {

// A log file, emptied. Opened for appending, so that nothing is overwritten where two streams
// go to the same file, and a file cut short by others goes on at its new end.
inline unique_fd open_log_file(const std::string& path, const syscalls& calls) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
  unique_fd file(uninterrupted([&] { return calls.open(path.c_str(), flags, 0666); }));
  if (!file) {
    throw error(errc::file_access, fmt::format("log file '{}' cannot be opened for writing: {}",
                                               path, errno_text(errno)));
  }
  return file;
}

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
  /// copy: the pipe to read from, and the file to write to (-1: none).
  unique_fd pipe;
  unique_fd file;
};

/// Opens what a plan needs. Errors: `errc::file_access` naming the path, `errc::start_failed`.
inline opened_stream open_stream(const output_plan& plan, const syscalls& calls = real_syscalls) {
  opened_stream stream;
  switch (plan.kind) {
    case output_plan::how::inherit: break;
    case output_plan::how::null: stream.process_end = open_null(calls); break;
    case output_plan::how::file: stream.process_end = open_log_file(plan.file, calls); break;
    case output_plan::how::copy: {
      if (!plan.file.empty()) stream.file = open_log_file(plan.file, calls);
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

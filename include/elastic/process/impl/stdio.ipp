// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/stdio.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/detail/limit_reached.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL unique_fd open_null(const syscalls& calls) {
  unique_fd file(uninterrupted([&] { return calls.open("/dev/null", O_RDWR | O_CLOEXEC, 0); }));
  if (!file) {
    throw error(errc::file_access,
                fmt::format("'/dev/null' cannot be opened: {}", errno_text(errno)));
  }
  return file;
}

inline pipe_ends open_pipe(const syscalls& calls) {
  int fds[2];
  if (calls.pipe(fds) != 0) {
    const int number = errno;
    throw error(errc::start_failed, fmt::format("a pipe for the output cannot be made: {}{}",
                                                errno_text(number), limit_reached(number)));
  }
  pipe_ends pipe{unique_fd(fds[0]), unique_fd(fds[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

ELASTIC_DECL opened_stream::~opened_stream() {
  if (closes_on_thread) close_on_thread(std::move(process_end));
}

ELASTIC_DECL opened_stream open_stream(const output_plan& plan, const syscalls& calls,
                                       bool file_may_hang) {
  opened_stream stream;
  switch (plan.kind) {
    case output_plan::how::inherit: break;
    case output_plan::how::null: stream.process_end = open_null(calls); break;
    case output_plan::how::file:
      stream.process_end = open_log_file(plan.file, calls);
      stream.closes_on_thread = file_may_hang;
      break;
    case output_plan::how::copy: {
      if (!plan.file.empty()) {
        stream.file = internals::open<log_file>(plan.file, plan.rotation, calls, file_may_hang);
      }
      pipe_ends pipe = open_pipe(calls);
      stream.pipe = std::move(pipe.read);
      stream.process_end = std::move(pipe.write);
      break;
    }
  }
  return stream;
}

ELASTIC_DECL task<opened_stream> open_stream_on_thread(output_plan plan, const syscalls& calls,
                                                       bool file_may_hang) {
  if (!file_may_hang || plan.kind != output_plan::how::file) {
    co_return open_stream(plan, calls, file_may_hang);
  }
  std::function<opened_stream()> work = [plan = std::move(plan), &calls] {
    return open_stream(plan, calls, true);
  };
  co_return co_await run_blocking<opened_stream>(std::move(work));
}

}  // namespace elastic::detail

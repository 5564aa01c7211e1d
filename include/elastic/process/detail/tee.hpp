// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/detail/lines.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/log_file.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/stdio.hpp>

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// What a `tee` does with the bytes that it reads.
struct tee_outlets {
  /// Written first, byte for byte; null: no file.
  std::shared_ptr<log_file> file;
  /// Lines that are also written to another file.
  output_plan::matching_lines matches;
  /// Shown last, with `prefix` before every line; null: not shown.
  std::shared_ptr<output_sink> console;
  line_head prefix;
  /// Lines are shown, and written if they match, as JSON objects; see `output_plan::json`.
  bool json = false;
  /// Remember the last lines.
  bool keep_tail = false;
  /// The clock of the times in prefixes. Null: `system_time`.
  std::shared_ptr<time_source> time;
  logger log;
};

/// Copies the output of one process from its pipe to files and to the console.
///
/// Lines of up to `limits::copy_line_bytes` reach the console whole, longer ones in pieces; with
/// prefixes, the last line gets an end. It reads more only once everything read is written: a slow
/// console makes the process wait, and so does a file that hangs, which is written on a thread. A
/// file that cannot be written, or a console that throws, is abandoned and logged once.
///
/// Thread-safety: one strand at a time.
class tee {
 public:
  /// Errors: `errc::start_failed` if the pipe cannot be waited on.
  ELASTIC_DECL tee(asio::any_io_executor executor, unique_fd pipe, tee_outlets outlets);
  tee(const tee&) = delete;
  tee& operator=(const tee&) = delete;

  /// Sets the process that writes the output, for prefixes that show it. Call it before `run`.
  ELASTIC_DECL void begin(pid_t pid);

  /// Calls a function, which must not throw, for bytes that contain one of these texts, after they
  /// are remembered. Call it before `run`.
  void watch_for(std::vector<std::string> texts, std::function<void()> call) {
    alarm_texts_ = std::move(texts);
    on_alarm_ = std::move(call);
  }

  /// Copies until every process has closed its end of the pipe, or until `finish`. Await it once.
  ///
  /// Errors: none; the log says what could not be written.
  /// Cancellation: all types; ends it and loses what was not read; a write to a file that hangs
  /// continues in the background. While it waits for the console, call `abandon_console`, too.
  ELASTIC_DECL task<void> run();

  /// Makes `run` end without waiting for the end of the pipe; the present content of the pipe is
  /// still copied. For a pipe that another process holds open after this one has ended.
  ELASTIC_DECL void finish();

  /// Stops showing output and abandons the write in progress, for a console that is blocked. The
  /// file still gets everything.
  ELASTIC_DECL void abandon_console();

  /// How many bytes were read.
  std::uint64_t copied() const { return copied_; }

  /// The last lines, at most `limits::report_stderr_lines`, if `keep_tail` was asked for.
  std::vector<std::string> tail() const { return tail_.lines(); }
  const line_tail& kept() const { return tail_; }

 private:
  char* buffer() { return large_ ? large_.get() : small_.data(); }
  std::size_t buffer_size() const { return large_ ? limits::copy_buffer_bytes : small_.size(); }

  // Like `read`; also 0 after `finish`, once the content that the pipe had at that time is read.
  ELASTIC_DECL ssize_t read_some();
  ELASTIC_DECL task<void> pass_on(std::string_view bytes);
  ELASTIC_DECL bool has_alarm(std::string_view bytes) const;
  ELASTIC_DECL void free_large_buffers();
  ELASTIC_DECL task<void> write_matches(std::string_view bytes);
  ELASTIC_DECL task<void> finish_matches();
  ELASTIC_DECL task<void> write_on_thread(std::shared_ptr<log_file> file, std::string bytes);

  ELASTIC_DECL void give_up_console(std::string_view why);

  // Runs in a separate coroutine, which `abandon_console` can end without ending `run`.
  ELASTIC_DECL task<void> show(std::string_view bytes);

  asio::posix::stream_descriptor pipe_;
  tee_outlets outlets_;
  pid_t pid_ = 0;
  line_prefixer lines_;
  line_matcher matches_;
  /// The console gets whole lines rather than bytes as they arrive.
  bool by_line_;
  /// The bytes that were shown last end in the middle of a line.
  bool is_mid_line_ = false;
  line_tail tail_;
  std::vector<std::string> alarm_texts_;
  std::function<void()> on_alarm_;
  asio::cancellation_signal showing_;
  std::uint64_t copied_ = 0;
  bool finishing_ = false;
  std::size_t remaining_ = 0;
  // Most processes write little at a time; the large buffer exists only for one that writes much.
  std::array<char, 4096> small_;
  std::unique_ptr<char[]> large_;
  bool wants_large_ = false;
  std::string batch_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/tee.ipp>
#endif

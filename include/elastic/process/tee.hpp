// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/console_writer.hpp>
#include <elastic/process/detail/lines.hpp>
#include <elastic/process/detail/unique_fd.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/log_file.hpp>
#include <elastic/process/stdio.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What a `tee` does with the bytes that it reads.
struct tee_outlets {
  /// Written first, byte for byte; null: no file.
  std::shared_ptr<log_file> file;
  /// Lines that are written to a file of their own.
  matching_lines matches;
  /// Shown last, with `prefix` before every line; null: not shown.
  std::shared_ptr<output_sink> console;
  line_head prefix;
  /// Lines are shown, and written where they match, as JSON objects; see `output_plan::json`.
  bool json = false;
  /// Remember the last lines.
  bool keep_tail = false;
  /// For the time before lines. Null: `system_time`.
  std::shared_ptr<time_source> time;
  logger log;
};

/// Copies the output of one process from its pipe to files and to the console.
///
/// Lines of up to `limits::copy_line_bytes` reach the console whole; longer ones in pieces. It
/// reads on only when what it read is written: a slow console makes the process wait. A file that
/// cannot be written is given up with a line in the log.
///
/// Thread-safety: one strand at a time.
class tee {
 public:
  /// Errors: `errc::start_failed` where the pipe cannot be waited for.
  tee(asio::any_io_executor executor, detail::unique_fd pipe, tee_outlets outlets)
      : pipe_(std::move(executor)),
        outlets_(std::move(outlets)),
        lines_(outlets_.prefix, outlets_.json),
        matches_(outlets_.matches.filters, outlets_.matches.prefix, outlets_.json),
        by_line_(outlets_.json || !outlets_.prefix.empty()) {
    if (!outlets_.time) outlets_.time = std::make_shared<system_time>();
    // A refusal (the user has too many large pipes) costs speed only.
    ::fcntl(pipe.get(), F_SETPIPE_SZ, static_cast<int>(limits::copy_buffer_bytes));
    asio::error_code failure;
    pipe_.assign(pipe.get(), failure);
    if (failure) {
      throw error(errc::start_failed,
                  fmt::format("the output of a process cannot be read: {}", failure.message()));
    }
    pipe.release();
  }
  tee(const tee&) = delete;
  tee& operator=(const tee&) = delete;

  /// Whose output it is, where lines are to say that. To be called before `run`.
  void begin(pid_t pid) {
    lines_.begin(pid);
    matches_.begin(pid);
  }

  /// Copies until every process has closed its end of the pipe, or until `finish`. To be awaited
  /// once.
  ///
  /// Errors: none; what cannot be written is said in the log.
  /// Cancellation: all types; ends it, and what was not read is lost. While it waits for the
  /// console, `abandon_console` is needed, too.
  task<void> run() {
    auto executor = co_await asio::this_coro::executor;
    for (;;) {
      const ssize_t size = read_some();
      if (size > 0) {
        co_await pass_on(std::string_view(buffer(), static_cast<std::size_t>(size)));
        // A process that never stops writing must not keep the loop to itself.
        co_await asio::post(executor, asio::use_awaitable);
        continue;
      }
      if (size == 0 || (errno == EAGAIN && finishing_)) break;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        outlets_.log.warning("output of a process cannot be read: {}", errno_text(errno));
        break;
      }
      free_large_buffers();
      const auto wait_read = asio::posix::stream_descriptor::wait_read;
      auto [failure] = co_await pipe_.async_wait(wait_read, detail::as_result);
      if (failure && !finishing_) throw std::system_error(failure);
    }
    free_large_buffers();
    finish_matches();
    lines_.finish(batch_);
    co_await show(batch_);
    outlets_.file.reset();
    outlets_.matches.file.reset();
    pipe_.close();
  }

  /// Makes `run` end without waiting for the end of the pipe: what is in it now is still copied.
  /// For a pipe that somebody holds open after the process has ended.
  void finish() {
    if (finishing_ || !pipe_.is_open()) return;
    int waiting = 0;
    ::ioctl(pipe_.native_handle(), FIONREAD, &waiting);
    remaining_ = static_cast<std::size_t>(std::max(waiting, 0));
    finishing_ = true;
    pipe_.cancel();
  }

  /// Shows nothing more, and gives up what is being shown: nobody wants to wait for a console that
  /// stands still. The file still gets everything.
  void abandon_console() {
    outlets_.console.reset();
    showing_.emit(asio::cancellation_type::terminal);
  }

  /// The last lines, at most `limits::report_stderr_lines`, where `keep_tail` was asked for.
  std::vector<std::string> tail() const { return tail_.lines(); }

 private:
  char* buffer() { return large_ ? large_.get() : small_.data(); }
  std::size_t buffer_size() const { return large_ ? limits::copy_buffer_bytes : small_.size(); }

  // As `read`: 0 at the end, and where all was read that `finish` still wanted.
  ssize_t read_some() {
    const std::size_t room = finishing_ ? std::min(remaining_, buffer_size()) : buffer_size();
    if (room == 0) return 0;
    const ssize_t size = ::read(pipe_.native_handle(), buffer(), room);
    if (size > 0 && finishing_) remaining_ -= static_cast<std::size_t>(size);
    // More is coming than a line now and then.
    if (size == static_cast<ssize_t>(small_.size()) && !large_) wants_large_ = true;
    return size;
  }

  task<void> pass_on(std::string_view bytes) {
    if (outlets_.keep_tail) tail_.keep(bytes);
    if (outlets_.file) outlets_.file->write(bytes, outlets_.log);
    if (outlets_.matches.file && !outlets_.matches.filters.empty()) write_matches(bytes);
    if (outlets_.console && !by_line_) {
      co_await show(bytes);
    } else if (outlets_.console) {
      lines_.stamp(*outlets_.time);
      while (!bytes.empty()) {
        bytes.remove_prefix(lines_.feed(bytes, batch_));
        co_await show(batch_);
        batch_.clear();
      }
    }
    if (std::exchange(wants_large_, false)) {
      large_ = std::make_unique_for_overwrite<char[]>(limits::copy_buffer_bytes);
      if (by_line_) batch_.reserve(2 * limits::copy_buffer_bytes);
    }
  }

  void free_large_buffers() {
    if (!large_) return;
    large_.reset();
    batch_ = std::string();
  }

  void write_matches(std::string_view bytes) {
    matches_.stamp(*outlets_.time);
    while (!bytes.empty()) {
      std::string found;
      bytes.remove_prefix(matches_.feed(bytes, found));
      outlets_.matches.file->write(found, outlets_.log);
    }
  }

  void finish_matches() {
    if (!outlets_.matches.file) return;
    std::string found;
    matches_.finish(found);
    outlets_.matches.file->write(found, outlets_.log);
  }

  // In a coroutine of its own, which `abandon_console` can end without ending this one.
  task<void> show(std::string_view bytes) {
    if (bytes.empty() || !outlets_.console) co_return;
    const std::shared_ptr<output_sink> console = outlets_.console;
    auto executor = co_await asio::this_coro::executor;
    try {
      co_await asio::co_spawn(
          executor, console->write(bytes),
          asio::bind_cancellation_slot(showing_.slot(), asio::use_awaitable));
    } catch (...) {
      // Abandoned, or a console that throws: it gets no more.
      outlets_.console.reset();
    }
  }

  asio::posix::stream_descriptor pipe_;
  tee_outlets outlets_;
  detail::line_prefixer lines_;
  detail::line_matcher matches_;
  /// The console gets lines, and not bytes as they come.
  bool by_line_;
  detail::line_tail tail_;
  asio::cancellation_signal showing_;
  bool finishing_ = false;
  std::size_t remaining_ = 0;
  // Most processes write little at a time; the large buffer exists while one writes much.
  std::array<char, 4096> small_;
  std::unique_ptr<char[]> large_;
  bool wants_large_ = false;
  std::string batch_;
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/lines.hpp>
#include <elastic/process/detail/unique_fd.hpp>
#include <elastic/process/process_sight.hpp>
#include <elastic/process/stdio.hpp>
#include <elastic/process/tee.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The last lines of a file, as many as a report shows; none where it cannot be read.
inline std::vector<std::string> read_file_tail(const std::string& path) {
  // A process may have put anything there, a FIFO that nobody writes to included.
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  constexpr auto most = static_cast<off_t>(limits::report_stderr_bytes);
  const off_t wanted = std::min(status.st_size, most);
  std::string bytes(static_cast<std::size_t>(wanted), '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), status.st_size - wanted);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  line_tail tail;
  tail.keep(bytes);
  return tail.lines();
}

/// One process of a set with the copying of its output, from its start until its place is free.
/// Shared with the coroutines that work for it.
class process_slot : public std::enable_shared_from_this<process_slot> {
 public:
  process_slot(asio::any_io_executor executor, std::size_t place)
      : index(place),
        ended(executor),
        copied(executor),
        cleared(executor),
        executor_(std::move(executor)) {}

  /// Prepares the copying of one stream; null where there is none to copy.
  std::unique_ptr<tee> make_tee(const output_plan& plan, opened_stream stream,
                                const std::shared_ptr<output_sink>& console,
                                const std::shared_ptr<time_source>& time, const logger& log) {
    if (!stream.pipe) return nullptr;
    tee_outlets outlets;
    outlets.file = std::move(stream.file);
    outlets.matches = plan.matches;
    if (plan.console) outlets.console = console;
    outlets.prefix = plan.prefix;
    outlets.json = plan.json;
    outlets.keep_tail = plan.keep_tail;
    outlets.time = time;
    outlets.log = log;
    return std::make_unique<tee>(executor_, std::move(stream.pipe), std::move(outlets));
  }

  /// Takes over the process that was started, and copies its output from now on.
  void begin(std::unique_ptr<child> started) {
    process = std::move(started);
    pid = process->pid();
    copy(out, cancel_out_);
    copy(err, cancel_err_);
    if (copying_ == 0) copied.set();
  }

  /// Runs `work` on the executor and calls `on_end`, sharing in the ownership of this.
  template <class OnEnd>
  void run(task<void> work, asio::cancellation_signal& cancel, OnEnd on_end) {
    auto ended_then = [self = shared_from_this(), on_end = std::move(on_end)](
                          std::exception_ptr failure) mutable { on_end(failure); };
    asio::co_spawn(executor_, std::move(work),
                   asio::bind_cancellation_slot(cancel.slot(), std::move(ended_then)));
  }

  bool running() const { return process && !ended.is_set(); }
  bool is_free() const { return cleared.is_set(); }

  /// Waits until the pipes have ended; from `deadline` on it takes what is in them and lets go.
  task<void> drain(std::shared_ptr<time_source> time) {
    if (copied.is_set()) co_return;
    const time_point deadline = time->now() + limits::drain_after_exit;
    draining_ = true;
    if (!hurried_) co_await with_deadline(*time, deadline, copied.wait());
    finish_copies();
    co_await copied.wait();
  }

  /// Frees the place; what is left is what a report asks for.
  void release() {
    // Then others still work with it, and the last of them destroys it.
    if (abandoned) return;
    if (err) tail_ = err->tail();
    process.reset();
    out.reset();
    err.reset();
    cleared.set();
  }

  std::vector<std::string> tail() const {
    if (err) return err->tail();
    return tail_file.empty() ? tail_ : read_file_tail(tail_file);
  }

  /// Nobody wants to wait for the output any more.
  void hurry() {
    hurried_ = true;
    abandon_console();
    if (draining_) finish_copies();
  }

  /// It was killed and does not end: it is waited for no longer, and the error of its clearing
  /// says why.
  void give_up(const std::string& why) {
    given_up = true;
    clear_failure = std::make_exception_ptr(error(errc::process_stuck, why));
    cancel_watch.emit(asio::cancellation_type::terminal);
    hurry();
  }

  /// The owner has gone: ends everything without waiting for it.
  void abandon() noexcept {
    abandoned = true;
    if (running()) process->signal(SIGKILL);
    abandon_console();
    for (auto* cancel : {&cancel_out_, &cancel_err_, &cancel_watch, &cancel_clear}) {
      cancel->emit(asio::cancellation_type::terminal);
    }
  }

  const std::size_t index;
  pid_t pid = 0;
  std::unique_ptr<child> process;
  std::unique_ptr<tee> out;
  std::unique_ptr<tee> err;
  /// The file whose end is the tail, where the process writes it itself.
  std::string tail_file;
  event_flag ended;
  event_flag copied;
  event_flag cleared;
  bool clearing = false;
  bool was_stopped = false;
  bool given_up = false;
  bool abandoned = false;
  /// How it looked when it had not ended for a while after it was killed.
  std::optional<process_sight> sight;
  std::exception_ptr clear_failure;
  asio::cancellation_signal cancel_watch;
  asio::cancellation_signal cancel_clear;

 private:
  void copy(const std::unique_ptr<tee>& stream, asio::cancellation_signal& cancel) {
    if (!stream) return;
    stream->begin(pid);
    ++copying_;
    run(stream->run(), cancel, [this](const std::exception_ptr&) {
      if (--copying_ == 0) copied.set();
    });
  }

  void finish_copies() {
    if (out) out->finish();
    if (err) err->finish();
  }

  void abandon_console() {
    if (out) out->abandon_console();
    if (err) err->abandon_console();
  }

  asio::any_io_executor executor_;
  int copying_ = 0;
  bool draining_ = false;
  bool hurried_ = false;
  std::vector<std::string> tail_;
  asio::cancellation_signal cancel_out_;
  asio::cancellation_signal cancel_err_;
};

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/tee.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL tee::tee(asio::any_io_executor executor, unique_fd pipe, tee_outlets outlets)
    : pipe_(std::move(executor)),
      outlets_(std::move(outlets)),
      lines_(outlets_.prefix, outlets_.json),
      matches_(outlets_.matches.filters, outlets_.matches.prefix, outlets_.json),
      by_line_(outlets_.json || !outlets_.prefix.empty()) {
  if (!outlets_.time) outlets_.time = new_shared<system_time>();
  // If the kernel refuses (the user has too many large pipes), copying is only slower.
  ::fcntl(pipe.get(), F_SETPIPE_SZ, static_cast<int>(limits::copy_buffer_bytes));
  asio_error_code failure;
  pipe_.assign(pipe.get(), failure);
  if (failure) {
    throw error(errc::start_failed,
                fmt::format("the output of a process cannot be read: {}", failure.message()));
  }
  pipe.release();
}

ELASTIC_DECL void tee::begin(pid_t pid) {
  pid_ = pid;
  lines_.begin(pid);
  matches_.begin(pid);
}

ELASTIC_DECL task<void> tee::run() {
  auto executor = co_await asio::this_coro::executor;
  for (;;) {
    const ssize_t size = read_some();
    if (size > 0) {
      co_await pass_on(std::string_view(buffer(), static_cast<std::size_t>(size)));
      // A process that writes without pause must not monopolize the event loop.
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
    auto [failure] = co_await pipe_.async_wait(wait_read, as_result);
    if (failure && !finishing_) throw asio_system_error(failure);
  }
  free_large_buffers();
  co_await finish_matches();
  lines_.finish(batch_);
  co_await show(batch_);
  if (outlets_.console && is_mid_line_) outlets_.console->break_line();
  outlets_.file.reset();
  outlets_.matches.file.reset();
  pipe_.close();
}

ELASTIC_DECL void tee::finish() {
  if (finishing_ || !pipe_.is_open()) return;
  int waiting = 0;
  ::ioctl(pipe_.native_handle(), FIONREAD, &waiting);
  remaining_ = static_cast<std::size_t>(std::max(waiting, 0));
  finishing_ = true;
  pipe_.cancel();
}

ELASTIC_DECL void tee::abandon_console() {
  outlets_.console.reset();
  showing_.emit(asio::cancellation_type::terminal);
}

ELASTIC_DECL ssize_t tee::read_some() {
  const std::size_t room = finishing_ ? std::min(remaining_, buffer_size()) : buffer_size();
  if (room == 0) return 0;
  const ssize_t size = ::read(pipe_.native_handle(), buffer(), room);
  if (size > 0) copied_ += static_cast<std::uint64_t>(size);
  if (size > 0 && finishing_) remaining_ -= static_cast<std::size_t>(size);
  // A full small buffer: the process writes more than an occasional line.
  if (size == static_cast<ssize_t>(small_.size()) && !large_) wants_large_ = true;
  return size;
}

ELASTIC_DECL task<void> tee::pass_on(std::string_view bytes) {
  if (outlets_.keep_tail) tail_.keep(bytes);
  if (has_alarm(bytes)) on_alarm_();
  if (outlets_.file && outlets_.file->may_hang()) {
    co_await write_on_thread(outlets_.file, std::string(bytes));
  } else if (outlets_.file) {
    outlets_.file->write(bytes, outlets_.log);
  }
  if (outlets_.matches.file && !outlets_.matches.filters.empty()) co_await write_matches(bytes);
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

ELASTIC_DECL bool tee::has_alarm(std::string_view bytes) const {
  return std::any_of(alarm_texts_.begin(), alarm_texts_.end(), [&](const std::string& text) {
    return ::memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
  });
}

ELASTIC_DECL void tee::free_large_buffers() {
  if (!large_) return;
  large_.reset();
  batch_ = std::string();
}

ELASTIC_DECL task<void> tee::write_matches(std::string_view bytes) {
  matches_.stamp(*outlets_.time);
  while (!bytes.empty()) {
    std::string lines;
    bytes.remove_prefix(matches_.feed(bytes, lines));
    co_await write_on_thread(outlets_.matches.file, std::move(lines));
  }
}

ELASTIC_DECL task<void> tee::finish_matches() {
  if (!outlets_.matches.file) co_return;
  std::string lines;
  matches_.finish(lines);
  co_await write_on_thread(outlets_.matches.file, std::move(lines));
}

ELASTIC_DECL task<void> tee::write_on_thread(std::shared_ptr<log_file> file, std::string bytes) {
  if (bytes.empty()) co_return;
  using messages = std::vector<std::string>;
  std::function<messages()> work = [file, bytes = std::move(bytes)] { return file->write(bytes); };
  messages problems;
  if (!file->may_hang()) {
    problems = work();
  } else {
    try {
      problems = co_await run_blocking<messages>(std::move(work));
    } catch (const asio_system_error& failure) {
      if (failure.code() != asio::error::operation_aborted) throw;
      outlets_.log.error("log file '{}' takes no output, which is lost", file->path());
      throw;
    }
  }
  for (const std::string& problem : problems) outlets_.log.error("{}", problem);
}

ELASTIC_DECL void tee::give_up_console(std::string_view why) {
  // The console is null if `abandon_console` was called; the exception is then only its
  // cancellation.
  if (!std::exchange(outlets_.console, nullptr)) return;
  outlets_.log.error("no more output of process {} is shown: its output sink failed: {}", pid_,
                     why);
}

ELASTIC_DECL task<void> tee::show(std::string_view bytes) {
  if (bytes.empty() || !outlets_.console) co_return;
  is_mid_line_ = !bytes.ends_with('\n');
  const std::shared_ptr<output_sink> console = outlets_.console;
  auto executor = co_await asio::this_coro::executor;
  try {
    co_await run_on(executor, console->write(bytes), showing_.slot());
  } catch (const std::exception& failure) {
    give_up_console(failure.what());
  } catch (...) {
    give_up_console("an exception of an unknown type");
  }
}

}  // namespace elastic::detail

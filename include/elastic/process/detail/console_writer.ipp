// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/console_writer.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/asio_channel.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL console_writer::console_writer(const asio::any_io_executor& executor, int fd,
                                            logger log)
    : log_(std::move(log)),
      name_(fd == STDOUT_FILENO   ? "stdout"
            : fd == STDERR_FILENO ? "stderr"
                                  : fmt::format("descriptor {}", fd)),
      target_(fd),
      room_(executor),
      turn_(executor, 1) {
  is_dropping_ = !target_;
}

ELASTIC_DECL task<void> console_writer::write(std::string_view bytes) {
  // The channel holds one token: the writer that put it there has the turn.
  if (!turn_.try_send(asio_error_code(), 0)) {
    co_await turn_.async_send(asio_error_code(), 0, asio::use_awaitable);
  }
  const give_back turn{turn_};
  while (!bytes.empty() && !is_dropping_) {
    const std::optional<std::size_t> written = target_.write_some(bytes);
    if (written) {
      bytes.remove_prefix(*written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      co_await wait_for_room();
    } else {
      give_up(errno);
    }
  }
}

ELASTIC_DECL console_writer::give_back::~give_back() {
  turn.try_receive([](asio_error_code, int) {});
}

ELASTIC_DECL task<void> console_writer::wait_for_room() {
  if (!room_.is_open() && !open_room()) {
    give_up(errno);
    co_return;
  }
  co_await room_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

ELASTIC_DECL bool console_writer::open_room() {
  unique_fd waiting(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event writable{};
  writable.events = EPOLLOUT;
  if (!waiting || ::epoll_ctl(waiting.get(), EPOLL_CTL_ADD, target_.fd(), &writable) != 0) {
    return false;
  }
  room_.assign(waiting.release());
  return true;
}

ELASTIC_DECL void console_writer::give_up(int number) {
  is_dropping_ = true;
  log_.warning("output can no longer be shown on {}: {}", name_, errno_text(number));
}

}  // namespace elastic::detail

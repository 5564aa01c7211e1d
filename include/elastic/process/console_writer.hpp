// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/console_target.hpp>
#include <elastic/process/detail/unique_fd.hpp>

#include <asio/experimental/concurrent_channel.hpp>

#include <sys/epoll.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace elastic {

/// Where output that was copied from processes is shown. Implement it to show it elsewhere.
///
/// Thread-safety: `write` must be callable from every strand whose processes write to it.
class output_sink {
 public:
  virtual ~output_sink() = default;

  /// Writes all of `bytes`, which stay valid until it returns, before the bytes of any later call.
  /// Lines come whole and several at a time (a stream without prefix, and the end of one that
  /// ends without a line end, excepted). Taking long makes the processes wait, not the loop.
  ///
  /// Errors: none; what cannot be shown is dropped.
  /// Cancellation: all types; a part may have been written.
  virtual task<void> write(std::string_view bytes) = 0;
};

/// Shows output on a descriptor of this process: a terminal, a pipe, a file, a socket.
///
/// A reader that is slow makes `write` wait, and so the processes whose output it is; never the
/// loop. The descriptor's own flags stay as they are: they are shared with other processes, which
/// would be surprised by a stdout that does not block. When the other end has gone, that is said
/// once in the log, and everything is dropped from then on.
///
/// Thread-safety: `write` may be called from any strand.
class console_writer final : public output_sink {
 public:
  /// `fd` is borrowed: the writer keeps a descriptor of its own. One that is not open takes
  /// everything and shows nothing.
  console_writer(const asio::any_io_executor& executor, int fd, logger log = {})
      : log_(std::move(log)), name_(fd), target_(fd), room_(executor), turn_(executor, 1) {
    is_dropping_ = !target_;
  }

  task<void> write(std::string_view bytes) override {
    // Room for one token: who has put it there has the turn.
    if (!turn_.try_send(asio::error_code(), 0)) {
      co_await turn_.async_send(asio::error_code(), 0, asio::use_awaitable);
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

 private:
  using turn_channel = asio::experimental::concurrent_channel<void(asio::error_code, int)>;

  struct give_back {
    turn_channel& turn;
    ~give_back() {
      turn.try_receive([](asio::error_code, int) {});
    }
  };

  task<void> wait_for_room() {
    if (!room_.is_open() && !open_room()) {
      give_up(errno);
      co_return;
    }
    co_await room_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  }

  // Waits by an epoll of its own around the target: Asio makes what it waits for not block, which
  // everybody who has the same stdout would feel.
  bool open_room() {
    detail::unique_fd waiting(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event writable{};
    writable.events = EPOLLOUT;
    if (!waiting || ::epoll_ctl(waiting.get(), EPOLL_CTL_ADD, target_.fd(), &writable) != 0) {
      return false;
    }
    room_.assign(waiting.release());
    return true;
  }

  void give_up(int number) {
    is_dropping_ = true;
    log_.warning("output can no longer be shown on descriptor {}: {}", name_, errno_text(number));
  }

  logger log_;
  int name_;
  console_target target_;
  bool is_dropping_ = false;
  // Becomes readable when the target has room; made when first needed.
  asio::posix::stream_descriptor room_;
  turn_channel turn_;
};

/// The stdout (1) or stderr (2) of this process as the place where copied output is shown.
inline std::shared_ptr<output_sink> make_console_writer(const asio::any_io_executor& executor,
                                                        int fd, logger log = {}) {
  return std::make_shared<console_writer>(executor, fd, std::move(log));
}

}  // namespace elastic

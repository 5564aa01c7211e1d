// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/unique_fd.hpp>

#include <asio/experimental/concurrent_channel.hpp>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

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

namespace detail {

// Blocks SIGPIPE in this thread and takes away the one that a write has raised meanwhile: a host
// that has not chosen to ignore it must not die of a console that went away.
class without_sigpipe {
 public:
  without_sigpipe() {
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    if (!was_pending_) ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (was_pending_) return;
    if (raised_) {
      constexpr timespec at_once{0, 0};
      while (::sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void note_raised() { raised_ = true; }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
  bool raised_ = false;
};

inline ssize_t write_without_sigpipe(int fd, const void* data, std::size_t size) {
  ssize_t written;
  int failure;
  {
    without_sigpipe guard;
    written = ::write(fd, data, size);
    failure = errno;
    if (written < 0 && failure == EPIPE) guard.note_raised();
  }
  errno = failure;
  return written;
}

}  // namespace detail

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
      : log_(std::move(log)), name_(fd), descriptor_(executor), turn_(executor, 1) {
    open(fd);
  }

  task<void> write(std::string_view bytes) override {
    // Room for one token: who has put it there has the turn.
    if (!turn_.try_send(asio::error_code(), 0)) {
      co_await turn_.async_send(asio::error_code(), 0, asio::use_awaitable);
    }
    const give_back turn{turn_};
    while (!bytes.empty() && how_ != how::dropped) {
      const std::optional<std::size_t> written = write_some(bytes);
      if (written) {
        bytes.remove_prefix(*written);
      } else {
        co_await wait_for_room();
      }
    }
  }

 private:
  enum class how {
    dropped,
    /// A file or a device such as /dev/null: takes everything at once.
    blocking,
    /// An open file description of our own that does not block.
    own,
    /// A socket: asked for each write not to block.
    socket,
    /// Shared with others and blocking: written when it has room for `PIPE_BUF`, and no more.
    shared,
  };
  using turn_channel = asio::experimental::concurrent_channel<void(asio::error_code, int)>;

  struct give_back {
    turn_channel& turn;
    ~give_back() {
      turn.try_receive([](asio::error_code, int) {});
    }
  };

  void open(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return;
    if (S_ISSOCK(status.st_mode)) {
      how_ = how::socket;
    } else if (S_ISFIFO(status.st_mode) || ::isatty(fd)) {
      if (!is_terminal_master(fd)) fd_ = reopened(fd);
      how_ = fd_ ? how::own : how::shared;
    } else {
      how_ = how::blocking;
    }
    if (!fd_) fd_ = detail::unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!fd_) how_ = how::dropped;
  }

  // An open file description of its own, with flags of its own, for the same pipe or terminal.
  static detail::unique_fd reopened(int fd) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    return detail::unique_fd(
        ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  }

  // The side of a pseudo-terminal where its user sits: opened again, it would be a new one.
  static bool is_terminal_master(int fd) {
    unsigned number = 0;
    return ::ioctl(fd, TIOCGPTN, &number) == 0;
  }

  // Empty where there is no room now.
  std::optional<std::size_t> write_some(std::string_view bytes) {
    const ssize_t written = attempt(bytes);
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) give_up(errno);
    return 0;
  }

  ssize_t attempt(std::string_view bytes) {
    switch (how_) {
      case how::socket:
        return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      case how::shared: {
        pollfd room{fd_.get(), POLLOUT, 0};
        if (::poll(&room, 1, 0) == 0) {
          errno = EAGAIN;
          return -1;
        }
        bytes = bytes.substr(0, PIPE_BUF);
        break;
      }
      case how::dropped:
      case how::blocking:
      case how::own: break;
    }
    return detail::write_without_sigpipe(fd_.get(), bytes.data(), bytes.size());
  }

  task<void> wait_for_room() {
    if (!descriptor_.is_open()) {
      asio::error_code failure;
      descriptor_.assign(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3), failure);
      if (failure) {
        give_up(failure.value());
        co_return;
      }
    }
    co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                                    asio::use_awaitable);
  }

  void give_up(int number) {
    how_ = how::dropped;
    log_.warning("output can no longer be shown on descriptor {}: {}", name_, errno_text(number));
  }

  logger log_;
  int name_;
  how how_ = how::dropped;
  detail::unique_fd fd_;
  // A second descriptor of the same description, for waiting; made when first needed.
  asio::posix::stream_descriptor descriptor_;
  turn_channel turn_;
};

/// The stdout (1) or stderr (2) of this process as the place where copied output is shown.
inline std::shared_ptr<output_sink> make_console_writer(const asio::any_io_executor& executor,
                                                        int fd, logger log = {}) {
  return std::make_shared<console_writer>(executor, fd, std::move(log));
}

}  // namespace elastic

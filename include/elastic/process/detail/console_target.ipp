// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/console_target.hpp>

#include <elastic/base/detail/new_shared.hpp>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

// Blocks SIGPIPE in this thread and consumes the one that a write has raised meanwhile: a host that
// does not ignore SIGPIPE must not die because its console is gone.
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
  void mark_raised() { raised_ = true; }

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
    if (written < 0 && failure == EPIPE) guard.mark_raised();
  }
  errno = failure;
  return written;
}

/// The last line of a file to which this process writes.
struct shown_line {
  std::mutex mutex;
  bool is_open = false;
  /// A line end must be written before anything else.
  bool is_broken = false;
};

/// The last line of a file. All callers share one object as long as one of them keeps it.
inline std::shared_ptr<shown_line> line_of(const struct stat& file) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<shown_line>> lines;
  const std::lock_guard one_at_a_time(mutex);
  std::erase_if(lines, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<shown_line>& known = lines[{file.st_dev, file.st_ino}];
  std::shared_ptr<shown_line> line = known.lock();
  if (!line) known = line = new_shared<shown_line>();
  return line;
}

ELASTIC_DECL console_target::console_target(int fd) : line_(new_shared<shown_line>()) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return;
  line_ = line_of(status);
  if (S_ISSOCK(status.st_mode)) {
    how_ = how::socket;
  } else if (S_ISFIFO(status.st_mode) || ::isatty(fd)) {
    if (!is_terminal_master(fd)) fd_ = reopened(fd);
    how_ = fd_ ? how::own : how::shared;
  }
  if (!fd_) fd_ = unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

ELASTIC_DECL std::optional<std::size_t> console_target::write_some(std::string_view bytes) {
  const std::lock_guard one_at_a_time(line_->mutex);
  if (line_->is_broken) {
    if (!draw_some("\n")) return std::nullopt;
    line_->is_open = line_->is_broken = false;
  }
  const std::optional<std::size_t> written = draw_some(bytes);
  if (written && *written > 0) line_->is_open = bytes[*written - 1] != '\n';
  return written;
}

ELASTIC_DECL void console_target::break_line() {
  const std::lock_guard one_at_a_time(line_->mutex);
  line_->is_broken = line_->is_open;
}

ELASTIC_DECL std::optional<std::size_t> console_target::draw_some(std::string_view bytes) {
  for (;;) {
    const ssize_t written = attempt(bytes);
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno != EINTR) return std::nullopt;
  }
}

ELASTIC_DECL unique_fd console_target::reopened(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return unique_fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

ELASTIC_DECL bool console_target::is_terminal_master(int fd) {
  unsigned number = 0;
  return ::ioctl(fd, TIOCGPTN, &number) == 0;
}

ELASTIC_DECL ssize_t console_target::attempt(std::string_view bytes) {
  if (how_ == how::socket) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (how_ == how::shared) {
    pollfd room{fd_.get(), POLLOUT, 0};
    if (::poll(&room, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    bytes = bytes.substr(0, PIPE_BUF);
  }
  return write_without_sigpipe(fd_.get(), bytes.data(), bytes.size());
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/stream_listener.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/rate_gate.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_hook.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/keep_alive.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The number of bytes of a Unix address that name a path. Without a file, every one counts.
inline socklen_t unix_address_size(const std::string& path) {
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
}

inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw error(
        errc::invalid_argument,
        fmt::format("the socket '{}' cannot be used: the path has {} bytes; 1 to {} are allowed",
                    path, path.size(), sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Whether the path is a socket at which nobody listens.
inline bool is_left_socket(const std::string& path, const sockaddr_un& address) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return false;
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED;
}

ELASTIC_DECL int listen_at(const asio::ip::tcp::endpoint& place) {
  unique_fd fd(
      ::socket(place.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return -1;
  const int enabled = 1;
  const int disabled = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
  // Accepted sockets inherit these options, which saves calls for each of them.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
  keep_alive(fd.get());
  call_socket_hook(fd.get());
  if (place.address().is_v6()) {
    // "::" stands for the whole host, including IPv4; any other address only for itself.
    const int* only = place.address().is_unspecified() ? &disabled : &enabled;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof *only);
  }
  const bool is_bound = ::bind(fd.get(), place.data(), static_cast<socklen_t>(place.size())) == 0;
  if (is_bound && ::listen(fd.get(), SOMAXCONN) == 0) return fd.release();
  const int failure = errno;
  fd.reset();
  errno = failure;
  return -1;
}

[[noreturn]] inline void refuse_place(const std::string& place, int failure,
                                      std::string_view taken = "it is in use") {
  if (failure == EADDRINUSE) {
    throw error(errc::address_in_use, fmt::format("cannot listen at {}: {}", place, taken));
  }
  if (failure == EADDRNOTAVAIL) {
    throw error(errc::invalid_argument,
                fmt::format("cannot listen at {}: this is not an address of this host", place));
  }
  throw error(errc::invalid_argument,
              fmt::format("cannot listen at {}: {}", place, errno_text(failure)));
}

ELASTIC_DECL stream_listener::stream_listener(asio::any_io_executor executor, int fd, int family)
    : listening_(std::move(executor), fd), family_(family) {}

ELASTIC_DECL stream_listener::~stream_listener() { close(); }

ELASTIC_DECL stream_listener stream_listener::at_address(asio::any_io_executor executor,
                                                         const endpoint& wanted) {
  asio_error_code failure;
  const asio::ip::address address = asio::ip::make_address(wanted.host, failure);
  if (failure) {
    throw error(errc::invalid_argument,
                fmt::format("cannot listen at {}: an IP address is needed", to_text(wanted)));
  }
  const asio::ip::tcp::endpoint place(address, wanted.port);
  unique_fd fd(listen_at(place));
  if (!fd) refuse_place(to_text(wanted), errno);
  asio::ip::tcp::endpoint bound = place;
  socklen_t size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(fd.get(), bound.data(), &size) != 0) refuse_place(to_text(wanted), errno);
  stream_listener listener(std::move(executor), fd.get(), place.protocol().family());
  fd.release();
  listener.port_ = bound.port();
  return listener;
}

ELASTIC_DECL stream_listener stream_listener::at_path(asio::any_io_executor executor,
                                                      const std::string& path) {
  const sockaddr_un address = unix_address(path);
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  std::string place = fmt::format("'{}'", path);
  std::replace(place.begin(), place.end(), '\0', '@');
  if (!fd) refuse_place(place, errno);
  // On Linux, the file that bind creates gets the mode of the socket, so no other user can connect
  // meanwhile.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) refuse_place(place, errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const socklen_t size = unix_address_size(path);
  int bound = ::bind(fd.get(), generic, size);
  if (bound != 0 && errno == EADDRINUSE) {
    const bool is_left = is_left_socket(path, address);
    if (is_left) ::unlink(path.c_str());
    bound = ::bind(fd.get(), generic, size);
  }
  if (bound != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    refuse_place(place, errno, "it is in use, or the file exists");
  }
  stream_listener listener(std::move(executor), fd.get(), AF_UNIX);
  fd.release();
  listener.path_ = path;
  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0) listener.file_ = {file.st_dev, file.st_ino};
  return listener;
}

/// The process at the other end of a Unix socket.
inline std::optional<ucred> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

ELASTIC_DECL task<bool> stream_listener::ready() {
  auto [failure] =
      co_await listening_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
  if (failure == asio::error::operation_aborted && listening_.is_open()) {
    throw asio_system_error(failure);
  }
  co_return !failure;
}

ELASTIC_DECL int stream_listener::accept(std::size_t most,
                                         const std::function<void(accepted_connection)>& admit) {
  while (most > 0) {
    unique_fd fd(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    accepted_connection accepted{
        asio::generic::stream_protocol::socket(listening_.get_executor())};
    if (family_ == AF_UNIX) accepted.peer = peer_of(fd.get());
    asio_error_code failure;
    accepted.socket.assign(asio::generic::stream_protocol(family_, 0), fd.get(), failure);
    if (failure) return failure.value();
    fd.release();
    --most;
    admit(std::move(accepted));
  }
  return 0;
}

ELASTIC_DECL task<void> accept_all(stream_listener& listener, accept_terms terms,
                                   std::function<void(accepted_connection)> admit) {
  rate_gate gate(terms.most_per_second);
  for (;;) {
    const bool is_open = co_await listener.ready();
    if (!is_open) co_return;
    std::optional<time_point> rest;
    std::string problem;
    try {
      const int failure = listener.accept(1, admit);
      if (failure != 0) problem = errno_text(failure);
      const time_point now = terms.time->now();
      rest = failure == 0 ? gate.count(now) : now + terms.pause;
    } catch (const std::exception& thrown) {
      problem = thrown.what();
    }
    if (!problem.empty() && terms.report) terms.report(problem);
    if (rest) co_await terms.time->sleep_until(*rest);
  }
}

ELASTIC_DECL void stream_listener::close() {
  if (!listening_.is_open()) return;
  // While this socket is open, no other file has its number.
  struct stat file{};
  const bool is_ours = !path_.empty() && ::lstat(path_.c_str(), &file) == 0 &&
                       file_ == std::pair(file.st_dev, file.st_ino);
  if (is_ours) ::unlink(path_.c_str());
  asio_error_code ignored;
  listening_.close(ignored);
}

/// Whether only this user can create files in the folder of a path.
inline bool has_folder_of(const std::string& path, std::uint32_t user) {
  const std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat about{};
  return ::stat(folder.c_str(), &about) == 0 && about.st_uid == user &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

ELASTIC_DECL bool is_trusted_server(std::uint32_t server, std::uint32_t client,
                                    const std::string& path) {
  if (server == client || server == 0) return true;
  // The superuser looks after the jobs of other users.
  return client == 0 && has_folder_of(path, server);
}

ELASTIC_DECL task<std::unique_ptr<byte_stream>> connect_path(std::string path) {
  const sockaddr_un address = unix_address(path);
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  // Never blocks: a socket with a full queue refuses the connection.
  if (!fd || ::connect(fd.get(), generic, unix_address_size(path)) != 0) {
    throw error(errc::connection_failed, fmt::format("'{}': {}", path, errno_text(errno)));
  }
  const std::optional<ucred> server = peer_of(fd.get());
  if (!server || !is_trusted_server(server->uid, ::geteuid(), path)) {
    throw error(errc::invalid_argument,
                fmt::format("'{}': user {} listens there, not user {} or root: put the socket into "
                            "a folder that is yours alone",
                            path, server ? std::to_string(server->uid) : "unknown", ::geteuid()));
  }
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::local::stream_protocol::socket socket(std::move(executor));
  socket.assign(asio::local::stream_protocol(), fd.get());
  fd.release();
  co_return std::make_unique<socket_stream>(std::move(socket));
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/stream_listener.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/asio_local.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// A connection of any family.
class socket_stream final : public byte_stream {
 public:
  socket_stream(asio::any_io_executor executor, int fd, int family)
      : socket_(std::move(executor), asio::generic::stream_protocol(family, 0), fd) {}

  task<std::size_t> read_some(asio::mutable_buffer buffer) override {
    auto [failure, size] = co_await socket_.async_read_some(buffer, as_result);
    if (failure == asio::error::eof) co_return 0;
    throw_if(failure);
    co_return size;
  }

  task<void> write(std::string bytes) override {
    auto [failure, size] = co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
    throw_if(failure);
  }

  void close() override {
    asio_error_code ignored;
    socket_.close(ignored);
  }

 private:
  void throw_if(asio_error_code failure) const {
    if (!failure) return;
    if (failure == asio::error::operation_aborted && socket_.is_open()) {
      throw asio_system_error(failure);
    }
    throw error(errc::connection_failed,
                fmt::format("the connection broke: {}", failure.message()));
  }

  asio::generic::stream_protocol::socket socket_;
};

/// Takes over the socket only once nothing can fail any more.
inline std::unique_ptr<byte_stream> make_stream(asio::any_io_executor executor, unique_fd fd,
                                                int family) {
  auto stream = std::make_unique<socket_stream>(std::move(executor), fd.get(), family);
  fd.release();
  return stream;
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
  const int family = place.protocol().family();
  unique_fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) refuse_place(to_text(wanted), errno);
  const int enabled = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
  if (::bind(fd.get(), place.data(), static_cast<socklen_t>(place.size())) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    refuse_place(to_text(wanted), errno);
  }
  asio::ip::tcp::endpoint bound = place;
  socklen_t size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(fd.get(), bound.data(), &size) != 0) refuse_place(to_text(wanted), errno);
  stream_listener listener(std::move(executor), fd.get(), family);
  fd.release();
  listener.port_ = bound.port();
  return listener;
}

ELASTIC_DECL stream_listener stream_listener::at_path(asio::any_io_executor executor,
                                                      const std::string& path) {
  const sockaddr_un address = unix_address(path);
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const std::string place = fmt::format("'{}'", path);
  if (!fd) refuse_place(place, errno);
  // On Linux, the file that bind creates gets the mode of the socket, so no other user can connect
  // meanwhile.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) refuse_place(place, errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  int bound = ::bind(fd.get(), generic, sizeof address);
  if (bound != 0 && errno == EADDRINUSE) {
    const bool is_left = is_left_socket(path, address);
    if (is_left) ::unlink(path.c_str());
    bound = ::bind(fd.get(), generic, sizeof address);
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

/// The user of the process at the other end of a Unix socket.
inline std::optional<std::uint32_t> peer_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

ELASTIC_DECL task<accepted_stream> stream_listener::accept() {
  for (;;) {
    unique_fd fd(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      const int enabled = 1;
      if (port_ != 0) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
      accepted_stream accepted;
      if (family_ == AF_UNIX) accepted.user = peer_user(fd.get());
      accepted.stream = make_stream(listening_.get_executor(), std::move(fd), family_);
      co_return accepted;
    }
    const int problem = errno;
    if (problem == EINTR || problem == ECONNABORTED) continue;
    if (problem != EAGAIN && problem != EWOULDBLOCK) {
      throw error(errc::connection_failed,
                  fmt::format("no connection can be accepted: {}", errno_text(problem)));
    }
    auto [failure] =
        co_await listening_.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    if (failure == asio::error::operation_aborted && listening_.is_open()) {
      throw asio_system_error(failure);
    }
    if (failure) throw error(errc::connection_failed, "the listener was closed");
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
  if (!fd || ::connect(fd.get(), generic, sizeof address) != 0) {
    throw error(errc::connection_failed, fmt::format("'{}': {}", path, errno_text(errno)));
  }
  const std::optional<std::uint32_t> server = peer_user(fd.get());
  if (!server || !is_trusted_server(*server, ::geteuid(), path)) {
    throw error(errc::invalid_argument,
                fmt::format("'{}': user {} listens there, not user {} or root: put the socket into "
                            "a folder that is yours alone",
                            path, server ? std::to_string(*server) : "unknown", ::geteuid()));
  }
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_return make_stream(std::move(executor), std::move(fd), AF_UNIX);
}

}  // namespace elastic::detail

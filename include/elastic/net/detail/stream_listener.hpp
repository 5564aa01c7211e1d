// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for servers of the library.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/endpoint.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// An accepted connection.
struct accepted_stream {
  std::unique_ptr<byte_stream> stream;
  /// The user of the process at the other end of a Unix socket, at the time of its connection;
  /// empty for TCP.
  std::optional<std::uint32_t> user = {};
};

/// Accepts connections at a TCP port, or at a Unix socket in the file system.
///
/// Thread-safety: one strand at a time, that of the executor.
class stream_listener {
 public:
  /// Listens at an IP address of this host; port 0: the system picks one.
  /// Errors: `errc::address_in_use`; `errc::invalid_argument` if the address is not an IP address,
  /// is not one of this host, or may not be used.
  ELASTIC_DECL static stream_listener at_address(asio::any_io_executor executor,
                                                 const endpoint& address);

  /// Listens at a Unix socket that only this user can connect to (mode 0600). Replaces a socket at
  /// which nobody listens because its agent was killed.
  /// Errors: `errc::address_in_use` if the path exists; `errc::invalid_argument` if it is too long,
  /// or cannot be created.
  ELASTIC_DECL static stream_listener at_path(asio::any_io_executor executor,
                                              const std::string& path);

  stream_listener(stream_listener&&) = default;
  stream_listener& operator=(stream_listener&&) = delete;
  ELASTIC_DECL ~stream_listener();

  /// The port on which it listens; 0: a Unix socket.
  std::uint16_t port() const { return port_; }

  /// The next connection.
  ///
  /// Errors: `errc::connection_failed` if the system has no resources for it, or after `close`.
  /// Cancellation: all types.
  ELASTIC_DECL task<accepted_stream> accept();

  /// Stops listening, and removes the path if it still belongs to this socket.
  ELASTIC_DECL void close();

 private:
  ELASTIC_DECL stream_listener(asio::any_io_executor executor, int fd, int family);

  asio::posix::stream_descriptor listening_;
  int family_;
  std::uint16_t port_ = 0;
  std::string path_;
  /// The device and number of the socket's file.
  std::pair<dev_t, ino_t> file_{};
};

/// Whether a client trusts the user who listens at a Unix socket. It trusts its own user and root;
/// root also trusts the owner of the folder if nobody else can put a socket there.
/// @param server  the user who listens
/// @param client  the user who connects
ELASTIC_DECL bool is_trusted_server(std::uint32_t server, std::uint32_t client,
                                    const std::string& path);

/// Connects to a Unix socket in the file system.
/// Errors: `errc::connection_failed`, naming the path; `errc::invalid_argument` if it is too long,
/// or another user listens there (`is_trusted_server`).
ELASTIC_DECL task<std::unique_ptr<byte_stream>> connect_path(std::string path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/stream_listener.ipp>
#endif

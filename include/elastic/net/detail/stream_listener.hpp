// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/asio_local.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/endpoint.hpp>

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// An accepted connection.
struct accepted_connection {
  asio::generic::stream_protocol::socket socket;
  /// The process at the other end of a Unix socket, at the time of its connection; empty for TCP.
  std::optional<ucred> peer = {};
};

/// Accepts connections at a TCP port, or at a Unix socket.
///
/// Thread-safety: one strand at a time, that of the executor.
class stream_listener {
 public:
  /// Listens at an IP address of this host; port 0: the system picks one.
  /// Errors: `errc::address_in_use`; `errc::invalid_argument` if the address is not an IP address,
  /// is not one of this host, or may not be used.
  ELASTIC_DECL static stream_listener at_address(asio::any_io_executor executor,
                                                 const endpoint& address);

  /// Listens at a Unix socket: in the file system, where only this user can connect to it (mode
  /// 0600), or if the path begins with a zero byte, at a name without a file, where every user can.
  /// Replaces a file at which nobody listens because its agent was killed.
  /// Errors: `errc::address_in_use` if the path exists; `errc::invalid_argument` if it is too long,
  /// or cannot be created.
  ELASTIC_DECL static stream_listener at_path(asio::any_io_executor executor,
                                              const std::string& path);

  stream_listener(stream_listener&&) = default;
  stream_listener& operator=(stream_listener&&) = delete;
  ELASTIC_DECL ~stream_listener();

  /// The port on which it listens; 0: a Unix socket.
  std::uint16_t port() const { return port_; }

  /// Waits until a connection can be accepted. Result: false if the listener was closed.
  ///
  /// Cancellation: all types.
  ELASTIC_DECL task<bool> ready();

  /// Accepts the connections that have arrived.
  /// @param most   the most that it accepts
  /// @param admit  takes each
  /// Result: 0, or the `errno` of a lack of resources.
  ELASTIC_DECL int accept(std::size_t most, const std::function<void(accepted_connection)>& admit);

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

/// The pace of `accept_all`.
struct accept_terms {
  std::shared_ptr<time_source> time;
  /// The wait after the system had no resources for a connection.
  duration pause = std::chrono::seconds(1);
  /// Called with what prevented a connection; may be empty.
  std::function<void(const std::string& problem)> report = {};
  /// The most connections within a second; more of them wait.
  int most_per_second = 1000;
};

/// Accepts connections until the listener is closed. What fails for one of them is reported, and
/// the next one is accepted.
///
/// @param listener  must live as long as `admit` does
/// @param admit     takes each connection: serves it in a task_group, or rejects it by its end
/// Errors: those of the report.
/// Cancellation: all types.
ELASTIC_DECL task<void> accept_all(stream_listener& listener, accept_terms terms,
                                   std::function<void(accepted_connection)> admit);

/// Opens a TCP port, for IPv6 too if the address is that of every interface. Accepted sockets
/// inherit its options: no delay, and signs of life of an idle connection.
/// Result: the descriptor, closed on exec; -1 on failure, with `errno` set.
ELASTIC_DECL int listen_at(const asio::ip::tcp::endpoint& place);

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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/port_lease.hpp>

#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/free_port.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<port_lease> port_lease::of(std::uint16_t port) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = fmt::format("elastic_port_{}", port);
  text.copy(name.sun_path + 1, text.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    if (errno == EADDRINUSE) return std::nullopt;
    // A sandbox without such names is no reason to run no job.
    socket.reset();
  }
  return port_lease(port, std::move(socket));
}

/// Whether a server could listen at the port, at every address of the host.
inline bool is_free_port(std::uint16_t port) {
  for (const asio::ip::tcp& protocol : {asio::ip::tcp::v6(), asio::ip::tcp::v4()}) {
    const asio::ip::tcp::endpoint end(protocol, port);
    const unique_fd socket(
        ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
    // A host without IPv6.
    if (!socket) continue;
    if (::bind(socket.get(), end.data(), static_cast<socklen_t>(end.size())) != 0) return false;
  }
  return true;
}

ELASTIC_DECL port_lease lease_port() {
  constexpr int tries = 1000;
  for (int tried = 0; tried < tries; ++tried) {
    const std::uint16_t port = free_port("0.0.0.0");
    if (!is_free_port(port)) continue;
    std::optional<port_lease> lease = port_lease::of(port);
    if (lease) return std::move(*lease);
  }
  throw error(errc::connection_failed, "no port of this host is free for a worker");
}

}  // namespace elastic::detail

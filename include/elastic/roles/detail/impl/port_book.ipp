// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/port_book.hpp>

#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/free_port.hpp>

#include <sys/socket.h>

namespace elastic::detail {

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

ELASTIC_DECL std::uint16_t port_book::take() {
  const std::lock_guard lock(mutex_);
  constexpr int tries = 1000;
  for (int tried = 0; tried < tries; ++tried) {
    const std::uint16_t port = free_port("0.0.0.0");
    if (is_free_port(port) && taken_.insert(port).second) return port;
  }
  throw error(errc::connection_failed, "no port of this host is free for a worker");
}

ELASTIC_DECL void port_book::give_back(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  taken_.erase(port);
}

}  // namespace elastic::detail

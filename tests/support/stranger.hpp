// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace elastic::test {

/// A connection to a port of this machine. It never blocks for longer than a moment, whatever the
/// other side does.
inline elastic::detail::unique_fd connect_stranger(std::uint16_t port) {
  elastic::detail::unique_fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval moment{0, 200'000};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(peer.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  return peer;
}

/// Sends as much as the other side takes.
inline void send_bytes(const elastic::detail::unique_fd& peer, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace elastic::test

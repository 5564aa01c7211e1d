// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace elastic::test {

/// A port of this host at which nobody listens, and which the kernel gives to nobody else while
/// this process lives: tests run side by side. Whoever allows a port to be used again
/// (SO_REUSEADDR), as servers do, can listen at it.
inline std::uint16_t reserved_port() {
  for (const int family : {AF_INET6, AF_INET}) {
    // Left open on purpose.
    const int holder = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (holder < 0) continue;
    const int on = 1;
    ::setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* const address = reinterpret_cast<sockaddr*>(&any);
    if (::bind(holder, address, size) == 0 && ::getsockname(holder, address, &size) == 0) {
      return ntohs(family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&any)->sin6_port
                                      : reinterpret_cast<const sockaddr_in*>(&any)->sin_port);
    }
    ::close(holder);
  }
  FAIL("no port is free");
  return 0;
}

}  // namespace elastic::test

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>

#include <support/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace elastic::test {

/// A listener at a port of 127.0.0.1 that neither accepts nor answers.
class silent_listener {
 public:
  explicit silent_listener(std::uint16_t port)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(fd_.get(), SOMAXCONN) == 0);
  }

  void close() { fd_.reset(); }

 private:
  detail::unique_fd fd_;
};

}  // namespace elastic::test

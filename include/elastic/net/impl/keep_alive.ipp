// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/keep_alive.hpp>

#include <elastic/base/limits.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>

namespace elastic {

ELASTIC_DECL void keep_alive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(limits::tcp_keep_alive_idle.count()));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(limits::tcp_keep_alive_interval.count()));
  set(IPPROTO_TCP, TCP_KEEPCNT, limits::tcp_keep_alive_probes);
}

ELASTIC_DECL void keep_alive_as_client(int fd) {
  keep_alive(fd);
  const std::chrono::milliseconds bound = limits::tcp_unacknowledged;
  const auto value = static_cast<unsigned>(bound.count());
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
}

}  // namespace elastic

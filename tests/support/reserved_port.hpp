// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace elastic::test {

/// Tries to reserve the port for this process, so that no other test can reserve it. A name in the
/// abstract namespace disappears with the process and, like a port, belongs to the network
/// namespace.
inline bool has_taken(std::uint16_t port) {
  // Left open on purpose.
  const int lock = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = fmt::format("elastic_test_port_{}", port);
  text.copy(name.sun_path + 1, text.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(lock, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;
  ::close(lock);
  return false;
}

/// Whether a server could listen at the port on all addresses.
inline bool is_free(std::uint16_t port) {
  const int trial = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int family = trial < 0 ? AF_INET : AF_INET6;
  const int fd = trial < 0 ? ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : trial;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&any)->sin6_port = htons(port);
  if (family == AF_INET) reinterpret_cast<sockaddr_in*>(&any)->sin_port = htons(port);
  const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool is_bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&any), size) == 0;
  ::close(fd);
  return is_bound;
}

/// A port of this host at which nobody listens, and which no other test takes while this process
/// lives. It is below the kernel's ephemeral ports, since one of those may be promised to a program
/// that does not listen yet, as PyTorch's launcher does. It is above those of `free_port`, which
/// other tests' programs choose from.
inline std::uint16_t reserved_port() {
  constexpr int first_port = 20'000;
  int first_of_kernel = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_of_kernel;
  REQUIRE(first_of_kernel > first_port);
  const int count = first_of_kernel - first_port;
  static int next = ::getpid();
  for (int tries = 0; tries < count; ++tries) {
    // A prime stride keeps processes with neighbouring pids apart.
    next = (next + 7919) % count;
    const auto port = static_cast<std::uint16_t>(first_port + next);
    // Not the other way round: a port that is looked at cannot be had by who has reserved it.
    if (has_taken(port) && is_free(port)) return port;
  }
  FAIL("no port is free");
  return 0;
}

}  // namespace elastic::test

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/port_lease.hpp>

#include <elastic/net/free_port.hpp>
#include <support/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace port_lease_tests {

using elastic::detail::lease_port;
using elastic::detail::port_lease;

/// Whether a process of its own gets the port.
bool is_given_elsewhere(std::uint16_t port) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(port_lease::of(port) ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 0;
}

TEST_CASE("port lease: while it lives nobody else gets the port, in this process or in another",
          "[net]") {
  port_lease lease = lease_port();
  const std::uint16_t port = lease.port();
  CHECK_FALSE(port_lease::of(port));
  CHECK_FALSE(is_given_elsewhere(port));
  const port_lease moved = std::move(lease);
  CHECK_FALSE(is_given_elsewhere(port));
  lease = lease_port();
  CHECK_FALSE(is_given_elsewhere(port));
}

TEST_CASE("port lease: the port goes back when the lease ends, also with its process", "[net]") {
  std::uint16_t port = 0;
  {
    const port_lease lease = lease_port();
    port = lease.port();
  }
  CHECK(is_given_elsewhere(port));
  CHECK(port_lease::of(port));
}

TEST_CASE("port lease: ports are free and all different, and the next free port is none of them",
          "[net]") {
  std::vector<port_lease> leases;
  std::set<std::uint16_t> ports;
  constexpr std::size_t count = 200;
  for (std::size_t i = 0; i < count; ++i) ports.insert(leases.emplace_back(lease_port()).port());
  CHECK(ports.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK_FALSE(ports.contains(elastic::free_port("127.0.0.1")));
  }
}

TEST_CASE("port lease: none has no port", "[net]") { CHECK(port_lease().port() == 0); }

}  // namespace port_lease_tests

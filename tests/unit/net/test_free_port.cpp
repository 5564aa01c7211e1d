// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/free_port.hpp>

#include <elastic/base/error.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <string>

namespace free_port_tests {

using asio::ip::tcp;

std::string complaint(const std::string& address) {
  try {
    elastic::free_port(address);
  } catch (const elastic::error& failure) {
    return failure.what();
  }
  return "";
}

TEST_CASE("free port: the port can be bound at the named address", "[net]") {
  for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
    const std::uint16_t port = elastic::free_port(address);
    CHECK(port != 0);
    asio::io_context context;
    CHECK_NOTHROW(tcp::acceptor(context, {asio::ip::make_address(address), port}));
  }
}

TEST_CASE("free port: the error names an address that is invalid or not of this host", "[net]") {
  CHECK(complaint("somewhere") == "'somewhere' is not a numeric address");
  CHECK(complaint("203.0.113.1").find("no port of 203.0.113.1 can be bound: ") == 0);
}

}  // namespace free_port_tests

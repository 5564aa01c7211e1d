// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/free_port.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/port_choice.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace free_port_tests {

using asio::ip::tcp;
using elastic::detail::port_below;

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

TEST_CASE("free port: it is none that the kernel gives to a connection", "[net]") {
  elastic::detail::random_source random(1);
  SECTION("if enough ports lie below those") {
    for (const int first : {11'000, 32'768, 65'535}) {
      for (int i = 0; i < 1000; ++i) {
        const auto port = port_below(first, random);
        REQUIRE(port);
        REQUIRE(*port >= 10'000);
        REQUIRE(*port < std::min(20'000, first));
      }
    }
  }
  SECTION("else the kernel chooses, also where nobody can say which ports it gives") {
    for (const int first : {-1, 0, 1024, 10'000, 10'999}) CHECK_FALSE(port_below(first, random));
  }
}

TEST_CASE("free port: the error names an address that is invalid or not of this host", "[net]") {
  CHECK(complaint("somewhere") == "'somewhere' is not a numeric address");
  CHECK(complaint("203.0.113.1").find("no port of 203.0.113.1 can be bound: ") == 0);
}

}  // namespace free_port_tests

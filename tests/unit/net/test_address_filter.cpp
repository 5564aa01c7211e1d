// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/local_address.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>

#include <string>

namespace address_filter_tests {

using asio::ip::make_address;
using elastic::address_filter;

TEST_CASE("address filter: admits addresses, networks and this host, and nobody else", "[net]") {
  address_filter filter;
  filter.add(make_address("10.0.0.1"));
  filter.add(make_address("::ffff:10.0.0.2"));
  filter.add_list("192.168.4.0/22+fd00:1::/32++2001:db8::7", '+');
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "10.0.0.1",
                           "::ffff:10.0.0.1", "10.0.0.2", "192.168.4.0", "192.168.7.255",
                           "::ffff:192.168.5.5", "fd00:1:ffff::1", "2001:db8::7"}) {
    CAPTURE(text);
    CHECK(filter.admits(make_address(text)));
  }
  for (const char* text : {"10.0.0.3", "192.168.3.255", "192.168.8.0", "fd00:2::1", "2001:db8::8",
                           "::", "0.0.0.0", "fe80::1"}) {
    CAPTURE(text);
    CHECK_FALSE(filter.admits(make_address(text)));
  }
}

TEST_CASE("address filter: a network that is none is refused, by its name", "[net]") {
  for (const char* text : {"10.0.0.0/33", "10.0.0/8", "host", "10.0.0.1/", "/8", "::/129", " "}) {
    CAPTURE(text);
    try {
      address_filter().add_network(text);
      FAIL_CHECK("was taken");
    } catch (const elastic::error& failure) {
      CHECK(std::string(failure.what()).find("'" + std::string(text) + "'") == 0);
    }
  }
}

TEST_CASE("own addresses: of interfaces that are up, and no loopback", "[net]") {
  asio::io_context context;
  for (const auto& address : elastic::own_addresses()) {
    CAPTURE(address.to_string());
    CHECK_FALSE(address.is_loopback());
    CHECK_FALSE(address.is_unspecified());
    if (address.is_v4()) CHECK(elastic::is_local_address(context.get_executor(), address));
  }
}

}  // namespace address_filter_tests

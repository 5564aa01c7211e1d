// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Which address of this host an interface or a network stands for.

#include <elastic/base/error.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace local_interface_test {

using detail::local_address_named;
using detail::local_interface;
using detail::local_interfaces;

local_interface up(const std::string& name, const std::vector<std::string>& addresses) {
  local_interface made;
  made.name = name;
  made.is_up = true;
  for (const std::string& address : addresses) {
    made.addresses.push_back(asio::ip::make_address(address));
  }
  return made;
}

std::vector<local_interface> host() {
  std::vector<local_interface> interfaces = {
      up("lo", {"127.0.0.1", "::1"}),
      up("eth0", {"fd00::15", "10.0.2.15", "10.0.2.16"}),
      up("ib0", {"10.1.0.7"}),
      up("ib1", {"10.1.0.8"}),
      up("ib2", {}),
      up("v6", {"fd01::1"}),
  };
  interfaces.push_back(up("off", {"10.9.0.1"}));
  interfaces.back().is_up = false;
  return interfaces;
}

TEST_CASE("local interface: a text names an address of this host", "[net]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"eth0", "10.0.2.15"},
      {"ib0", "10.1.0.7"},
      {"v6", "fd01::1"},
      {"lo", "127.0.0.1"},
      {"10.1.0.7/32", "10.1.0.7"},
      // The bits beyond the length do not count.
      {"10.1.0.5/29", "10.1.0.7"},
      {"10.1.0.8/30", "10.1.0.8"},
      {"127.0.0.0/8", "127.0.0.1"},
      {"fd01::/16", "fd01::1"},
  };
  for (const auto& [text, address] : rows) {
    INFO(text);
    CHECK(local_address_named(text, host()) == address);
  }
}

TEST_CASE("local interface: any other text stands for itself", "[net]") {
  for (const char* text : {"", "10.1.0.7", "192.0.2.1", "fd00::1", "node1", "eth1", "ETH0"}) {
    INFO(text);
    CHECK(local_address_named(text, host()) == text);
  }
}

TEST_CASE("local interface: what is not one address is refused with what there is", "[net]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"ib2", "the interface ib2 has no address for other hosts"},
      {"off", "the interface off is down"},
      {"10.9.0.0/16", "this host has no address in 10.9.0.0/16; it has lo 127.0.0.1 ::1, eth0 "},
      {"192.0.2.0/24", "ib2 without an address, v6 fd01::1, off 10.9.0.1 (down)"},
      {"10.1.0.0/16", "this host has several addresses in 10.1.0.0/16: 10.1.0.7, 10.1.0.8; name "},
      {"10.1.0.0/33", "'10.1.0.0/33' is not a network, such as 10.1.0.0/16 or fd00::/8"},
      {"10.1.0.0/", "'10.1.0.0/' is not a network"},
      {"10.1/16", "'10.1/16' is not a network"},
      {"/16", "'/16' is not a network"},
      {"ib0/16", "'ib0/16' is not a network"},
      {"fd00::/129", "'fd00::/129' is not a network"},
      {"/", "'/' is not a network"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text);
    std::string refusal;
    try {
      local_address_named(text, host());
    } catch (const error& refused) {
      CHECK(refused.code() == errc::invalid_argument);
      refusal = refused.what();
    }
    CHECK_THAT(refusal, test::contains_text(message));
  }
}

TEST_CASE("local interface: this host has a loopback interface", "[net]") {
  const std::vector<local_interface> interfaces = local_interfaces();
  const auto loopback = std::find_if(interfaces.begin(), interfaces.end(),
                                     [](const auto& each) { return each.name == "lo"; });
  REQUIRE(loopback != interfaces.end());
  CHECK(loopback->is_up);
  CHECK(local_address_named("lo") == "127.0.0.1");
  CHECK(local_address_named("127.0.0.0/8") == "127.0.0.1");
  CHECK(local_address_named("192.0.2.77") == "192.0.2.77");
}

}  // namespace local_interface_test

}  // namespace
}  // namespace elastic

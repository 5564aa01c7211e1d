// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/detail/listen_point.hpp>
#include <support/catch.hpp>

#include <set>
#include <string>
#include <vector>

namespace listen_point_tests {

using asio::ip::address;
using elastic::detail::choose_listen_point;
using elastic::detail::listen_point;
using words = std::vector<std::string>;

struct row {
  std::string host;
  /// For which addresses it stands here.
  words stands_for;
  /// Where the port is opened, without the loopback addresses that are added.
  words open;
};

words open_at(const row& entry) {
  std::vector<address> addresses;
  for (const std::string& text : entry.stands_for)
    addresses.push_back(asio::ip::make_address(text));
  const std::set<std::string> own = {"10.0.0.5", "10.1.0.5", "fd00::5", "127.0.0.1", "127.0.1.1"};
  const listen_point point = choose_listen_point(
      entry.host, addresses,
      [&own](const address& candidate) { return own.count(candidate.to_string()) != 0; });
  words open = {point.address};
  for (const address& further : point.besides) open.push_back(further.to_string());
  return open;
}

TEST_CASE("listen point: a port is open at the addresses that others know, and at loopback",
          "[rendezvous]") {
  const row rows[] = {
      {"10.0.0.5", {"10.0.0.5"}, {"10.0.0.5"}},
      {"::ffff:10.0.0.5", {"::ffff:10.0.0.5"}, {"10.0.0.5"}},
      {"fd00::5", {"fd00::5"}, {"fd00::5"}},
      {"head", {"10.0.0.5", "fd00::5", "10.0.0.5"}, {"10.0.0.5", "fd00::5"}},
      // Of several hosts behind one name.
      {"heads", {"10.0.0.6", "10.1.0.5"}, {"10.1.0.5"}},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.host);
    words open = entry.open;
    open.emplace_back("127.0.0.1");
    open.emplace_back("::1");
    CHECK(open_at(entry) == open);
  }
}

TEST_CASE("listen point: a loopback address is open to this host alone", "[rendezvous]") {
  for (const char* host : {"localhost", "127.0.0.1", "::1", "127.0.0.9"}) {
    CHECK(open_at({host, {"127.0.0.1"}, {}}) == words{host});
  }
}

TEST_CASE("listen point: if others may know another address, every one is open", "[rendezvous]") {
  const words everywhere = {""};
  const row rows[] = {
      // A NAT or a virtual address; a name that means nothing here.
      {"192.0.2.1", {"192.0.2.1"}, {}},
      {"head", {}, {}},
      {"0.0.0.0", {"0.0.0.0"}, {}},
      // A host's own name, as many systems write it into /etc/hosts.
      {"head", {"127.0.1.1"}, {}},
      {"head", {"127.0.1.1", "10.0.0.5"}, {}},
      {"head", {"10.0.0.5", "::1"}, {}},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.host);
    CHECK(open_at(entry) == everywhere);
  }
}

}  // namespace listen_point_tests

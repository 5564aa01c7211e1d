// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/own_loopback.hpp>

#include <elastic/base/asio.hpp>
#include <support/catch.hpp>

#include <set>
#include <string>

namespace own_loopback_tests {

TEST_CASE("own loopback: IPv4 unless the host or the user has IPv6 alone", "[net]") {
  using addresses = std::set<std::string>;
  const addresses both = {"127.0.0.1", "::1"};
  const struct {
    const char* like;
    addresses own;
    const char* chosen;
  } rows[] = {
      {"", both, "127.0.0.1"},
      {"localhost", both, "127.0.0.1"},
      {"10.0.0.1", both, "127.0.0.1"},
      {"::ffff:10.0.0.1", both, "127.0.0.1"},
      {"::1", both, "::1"},
      {"fd00::7", both, "::1"},
      {"", {"::1"}, "::1"},
      {"127.0.0.1", {"::1"}, "::1"},
      {"::1", {"127.0.0.1"}, "127.0.0.1"},
      // The error of whoever listens there names the usual address.
      {"", {}, "127.0.0.1"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.like, row.own);
    const auto is_own = [&](const elastic::asio::ip::address& address) {
      return row.own.count(address.to_string()) > 0;
    };
    CHECK(elastic::detail::choose_own_loopback(row.like, is_own) == row.chosen);
  }
}

}  // namespace own_loopback_tests

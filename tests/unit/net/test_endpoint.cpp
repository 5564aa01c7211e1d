// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/net/endpoint.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <string>
#include <vector>

namespace elastic {
namespace {

std::string endpoint_refusal(const std::string& text) {
  try {
    parse_endpoint(text, 29400);
  } catch (const error& failure) {
    CHECK(failure.code() == errc::invalid_argument);
    return failure.what();
  }
  return "";
}

TEST_CASE("endpoint: reads hosts and ports as torchrun does", "[net]") {
  const struct {
    const char* text;
    endpoint expected;
  } rows[] = {
      {"node1:29500", {"node1", 29500}},
      {"node1", {"node1", 29400}},
      {"", {"localhost", 29400}},
      {"  \t ", {"localhost", 29400}},
      {" node1:1 ", {"node1", 1}},
      {"localhost:0", {"localhost", 0}},
      {"10.0.0.1:65535", {"10.0.0.1", 65535}},
      {"a_b-c.d.example:00080", {"a_b-c.d.example", 80}},
      {"[::1]", {"::1", 29400}},
      {"[::1]:8080", {"::1", 8080}},
      {"[fe80::1]:1", {"fe80::1", 1}},
      // The split is at the last colon, also of an address without brackets.
      {"::1:8080", {"::1", 8080}},
      {"2001:db8::2:3", {"2001:db8::2", 3}},
  };
  for (const auto& row : rows) {
    INFO("endpoint '" << row.text << "'");
    const endpoint result = parse_endpoint(row.text, 29400);
    CHECK(result.host == row.expected.host);
    CHECK(result.port == row.expected.port);
  }
}

TEST_CASE("endpoint: refuses what is none, in one line that says what is allowed", "[net]") {
  const struct {
    const char* text;
    const char* reason;
  } rows[] = {
      {":29500", "no host"},           {"[]:29500", "no host"},
      {"node1:65536", "0 to 65535"},   {"node1:99999", "0 to 65535"},
      {"node1:123456", "0 to 65535"},  {"node1:", "0 to 65535"},
      {"node1:-1", "0 to 65535"},      {"node1:80x", "0 to 65535"},
      {"node1:+80", "0 to 65535"},     {"node one:80", "letters, digits"},
      {"node/1", "letters, digits"},   {"http://node1:80", "letters, digits"},
      {"nöde:80", "letters, digits"},  {"[::1", "letters, digits"},
      {"[::1]x", "0 to 65535"},        {"[fe80::1%eth0]:80", "letters, digits"},
      {"::1", "written [address]"},    {"127.0.0.1:22:33", "written [address]"},
      {"[node1:80]", "written [addr"},
  };
  for (const auto& row : rows) {
    INFO("endpoint '" << row.text << "'");
    const std::string refusal = endpoint_refusal(row.text);
    CHECK_THAT(refusal, test::contains_text(row.reason));
    CHECK_THAT(refusal, test::contains_text(row.text));
    CHECK(refusal.find('\n') == std::string::npos);
  }
}

TEST_CASE("endpoint: what is too long or has several lines is refused in one short line", "[net]") {
  const std::string longest(253, 'h');
  CHECK(parse_endpoint(longest + ":1", 1).host == longest);
  const std::string too_long = endpoint_refusal(longest + "h:1");
  CHECK_THAT(too_long, test::contains_text("at most 253 letters"));
  CHECK(endpoint_refusal(std::string(5000, 'h')).size() < 400);
  CHECK_THAT(endpoint_refusal("a\nb"), test::contains_text("'a b'"));
}

TEST_CASE("endpoint: is written so that it can be read again", "[net]") {
  for (const auto& address :
       {endpoint{"node1", 1}, endpoint{"::1", 29500}, endpoint{"10.1.2.3", 0}}) {
    CHECK(parse_endpoint(to_text(address), 1) == address);
  }
  CHECK(to_text(endpoint{"::1", 29500}) == "[::1]:29500");
}

TEST_CASE("endpoint: every port from 0 to 65535 is read, and no other", "[net]") {
  for (int port = 0; port <= 66000; ++port) {
    const std::string text = "h:" + std::to_string(port);
    if (port <= 65535) {
      REQUIRE(parse_endpoint(text, 1).port == port);
    } else {
      REQUIRE(!endpoint_refusal(text).empty());
    }
  }
}

CO_TEST("resolve_addresses: a number is its own address, a name that nobody has is none", "[net]") {
  // Awaited outside of CHECK, where g++ 12 would execute it twice.
  const auto number_addresses = co_await detail::resolve_addresses("127.3.2.1");
  const auto name_addresses = co_await detail::resolve_addresses("localhost");
  const auto missing_addresses = co_await detail::resolve_addresses("no-such-host.invalid");
  CHECK(number_addresses == std::vector{asio::ip::make_address("127.3.2.1")});
  REQUIRE_FALSE(name_addresses.empty());
  CHECK(name_addresses.front().is_loopback());
  CHECK(missing_addresses.empty());
}

}  // namespace
}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/http_request_parser.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace http_request_parser_tests {

using elastic::detail::http_request_parser;
using state = http_request_parser::state;

// Parses the bytes all at once, or byte by byte.
http_request_parser parser_of(std::string_view bytes, bool by_byte) {
  http_request_parser parser;
  if (!by_byte) parser.feed(bytes);
  for (std::size_t i = 0; by_byte && i < bytes.size(); ++i) parser.feed(bytes.substr(i, 1));
  return parser;
}

// "400 a line does not end with CR and LF", "complete" or "incomplete".
std::string outcome_of(std::string_view bytes) {
  std::string outcomes[2];
  for (const bool by_byte : {false, true}) {
    const http_request_parser parser = parser_of(bytes, by_byte);
    std::string& outcome = outcomes[by_byte ? 1 : 0];
    outcome = parser.current() == state::complete ? "complete" : "incomplete";
    if (parser.current() != state::refused) continue;
    outcome = fmt::format("{} {}", parser.refusal(), parser.problem());
  }
  CHECK(outcomes[0] == outcomes[1]);
  return outcomes[0];
}

TEST_CASE("http request: its parts", "[status]") {
  const bool by_byte = GENERATE(false, true);
  const http_request_parser parser = parser_of(
      "GET /api/v1/job?token=a%20b&x HTTP/1.1\r\nHost: localhost:1\r\nX-A:  b c \t\r\n"
      "Accept: a\r\naccept: b\r\nEmpty:\r\n\r\n",
      by_byte);
  REQUIRE(parser.current() == state::complete);
  CHECK(parser.head().method == "GET");
  CHECK(parser.head().path == "/api/v1/job");
  CHECK(parser.head().query == "token=a%20b&x");
  CHECK(parser.head().header("host") == "localhost:1");
  CHECK(parser.head().header("x-a") == "b c");
  CHECK(parser.head().header("accept") == "a, b");
  CHECK(parser.head().header("empty").empty());
  CHECK(parser.head().header("x-b").empty());
  CHECK(parser.head().keeps_connection);
}

TEST_CASE("http request: the next begins where one ends", "[status]") {
  const std::string first_request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::string bytes =
      first_request + "GET /b HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n";
  http_request_parser parser;
  REQUIRE(parser.feed(bytes) == first_request.size());
  REQUIRE(parser.current() == state::complete);
  CHECK(parser.feed(bytes) == 0);
  parser.next();
  CHECK_FALSE(parser.has_begun());
  CHECK(parser.feed(bytes.substr(first_request.size())) == bytes.size() - first_request.size());
  REQUIRE(parser.current() == state::complete);
  CHECK(parser.head().path == "/b");
  CHECK_FALSE(parser.head().keeps_connection);
}

TEST_CASE("http request: HTTP/1.0 asks once and needs no host", "[status]") {
  const http_request_parser parser = parser_of("GET / HTTP/1.0\r\n\r\n", false);
  CHECK(parser.current() == state::complete);
  CHECK_FALSE(parser.head().keeps_connection);
}

TEST_CASE("http request: what could be read in two ways is refused", "[status]") {
  const std::string get = "GET / HTTP/1.1\r\n";
  const std::string head = get + "Host: a\r\n";
  const std::string first_line = "400 the first line is not 'METHOD /path HTTP/1.1'";
  const std::string line_end = "400 a line does not end with CR and LF";
  struct row {
    std::string bytes;
    std::string outcome;
  };
  const std::string many_headers = [] {
    std::string headers;
    for (int i = 0; i < 70; ++i) headers += fmt::format("x{}: y\r\n", i);
    return headers;
  }();
  const row rows[] = {
      {"", "incomplete"},
      {head, "incomplete"},
      {head + "\r\n", "complete"},
      {head + "Content-Length: 0\r\n\r\n", "complete"},
      {head + "Content-Length: 2\r\n\r\na", "incomplete"},
      {get + "\r\n", "400 the header 'host' is missing"},
      {"\r\n" + head, first_line},
      {"GET  / HTTP/1.1\r\n", first_line},
      {"GET / HTTP/1.1 \r\n", first_line},
      {"GET /\r\n", first_line},
      {"GET http://a/ HTTP/1.1\r\n", first_line},
      {"GET /\xc3\xa4 HTTP/1.1\r\n", first_line},
      {"G(T / HTTP/1.1\r\n", first_line},
      {" / HTTP/1.1\r\n", first_line},
      {"GET / HTTP/2.0\r\n", "505 only HTTP/1.1 and HTTP/1.0 are supported"},
      {"GET / HTTP/1.1\n", line_end},
      {"\n", line_end},
      {head + "a: b\n", line_end},
      {head + "a: b\rc: d\r\n", "400 the header 'a' has a control character"},
      {head + std::string("a: \0b\r\n", 7), "400 the header 'a' has a control character"},
      {head + " a: b\r\n", "400 ' a: b' is not a header"},
      {head + "a : b\r\n", "400 'a : b' is not a header"},
      {head + ": b\r\n", "400 ': b' is not a header"},
      {head + "a\r\n", "400 'a' is not a header"},
      {head + "\x1b[2J\r\n", "400 '\\x1b[2J' is not a header"},
      {head + "Host: b\r\n", "400 'host' appears twice"},
      {head + "Content-Length: 1\r\ncontent-length: 1\r\n", "400 'content-length' appears twice"},
      {head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       "400 the length is given in two ways"},
      {head + "Transfer-Encoding: chunked\r\n\r\n", "501 chunked bodies are not supported"},
      {head + "Transfer-Encoding: \r\n\r\n", "501 chunked bodies are not supported"},
      {head + "Content-Length: +1\r\n\r\n", "400 'content-length' is not a number"},
      {head + "Content-Length: 1, 1\r\n\r\n", "400 'content-length' is not a number"},
      {head + "Content-Length:\r\n\r\n", "400 'content-length' is not a number"},
      {head + "Content-Length: 8193\r\n\r\n", "413 a body has 8192 bytes at most"},
      {head + "Content-Length: 99999999999999999999\r\n\r\n", "413 a body has 8192 bytes at most"},
      {head + "Expect: 100-continue\r\n\r\n", "417 the header 'expect' is not supported"},
      {head + many_headers, "431 there are over 64 headers"},
      {head + "a: " + std::string(9000, 'b'), "431 the head has over 8192 bytes"},
      {"GET /" + std::string(9000, 'b'), "431 the head has over 8192 bytes"}};
  for (const row& entry : rows) {
    CAPTURE(entry.bytes.substr(0, 100));
    CHECK(outcome_of(entry.bytes) == entry.outcome);
  }
}

}  // namespace http_request_parser_tests

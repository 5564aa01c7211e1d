// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// HTTP messages, whole and in pieces of one byte.

#include <elastic/net/detail/http_parser.hpp>
#include <support/catch.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace http_parser_tests {

using elastic::detail::http_parser;
using state = http_parser::state;

constexpr http_parser::bounds response_bounds{65536, 65536, 16 * 1024 * 1024};
constexpr http_parser::bounds request_bounds{8192, 64, 8192};

// The parser after it was fed all at once, or byte by byte.
http_parser fed(http_parser parser, std::string_view bytes, bool by_byte) {
  if (!by_byte) parser.feed(bytes);
  for (std::size_t i = 0; by_byte && i < bytes.size(); ++i) parser.feed(bytes.substr(i, 1));
  return parser;
}

// ---- responses ----------------------------------------------------------------------------------

const std::string chunked_answer =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n1;more=yes\r\n \r\n0A\r\nworld12345\r\n0\r\nTrailer: t\r\n\r\n";

http_parser response_of(std::string_view bytes, bool by_byte) {
  return fed(http_parser(http_parser::message::response, response_bounds), bytes, by_byte);
}

// How the bytes of a connection are refused; empty: they are responses.
std::string refusal_of(std::string_view bytes) {
  std::string refusals[2];
  for (const bool by_byte : {false, true}) {
    http_parser parser = response_of(bytes, by_byte);
    parser.end();
    if (parser.current() != state::refused) continue;
    refusals[by_byte ? 1 : 0] =
        fmt::format("{} {}", parser.refusal().status, parser.refusal().problem);
  }
  CHECK(refusals[0].empty() == refusals[1].empty());
  CHECK(refusals[1].size() < 250);
  return refusals[1];
}

TEST_CASE("http response: a body of a given length", "[net]") {
  const bool by_byte = GENERATE(false, true);
  http_parser parser =
      response_of("HTTP/1.1 404 Not Found\r\nContent-Length:  5 \r\nX-A: b\r\n\r\nhello", by_byte);
  CHECK((parser.current() == state::complete));
  CHECK(parser.head().status == 404);
  CHECK(parser.head().header("x-a") == "b");
  CHECK(parser.head().header("x-b").empty());
  CHECK(parser.take_body() == "hello");
  CHECK(parser.head().keeps_connection);
}

TEST_CASE("http response: a body in chunks", "[net]") {
  const bool by_byte = GENERATE(false, true);
  http_parser parser = response_of(chunked_answer, by_byte);
  CHECK((parser.current() == state::complete));
  CHECK(parser.take_body() == "hello world12345");
}

TEST_CASE("http response: a stream may be endless if somebody takes it", "[net]") {
  http_parser parser(http_parser::message::response, {1000, 1000, 10});
  parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    parser.feed("4\r\nabcd\r\n");
    CHECK(parser.take_body() == "abcd");
  }
  CHECK_FALSE((parser.current() == state::complete));
  parser.feed("4\r\nabcd\r\n4\r\nabcd\r\n");
  CHECK(parser.current() == state::incomplete);
  parser.feed("4\r\nabcd\r\n");
  CHECK(parser.current() == state::refused);
}

TEST_CASE("http response: a body up to the end of the connection", "[net]") {
  http_parser parser = response_of("HTTP/1.0 400 Bad Request\r\n\r\nno", false);
  CHECK_FALSE((parser.current() == state::complete));
  parser.end();
  CHECK((parser.current() == state::complete));
  CHECK(parser.take_body() == "no");
  CHECK_FALSE(parser.head().keeps_connection);
}

TEST_CASE("http response: one without a body, and one that is announced", "[net]") {
  CHECK(response_of("HTTP/1.1 204 No Content\r\n\r\n", false).current() == state::complete);
  http_parser parser = response_of(
      "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"
      "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
      true);
  CHECK((parser.current() == state::complete));
  CHECK(parser.head().status == 200);
  CHECK(parser.head().header("x").empty());
}

TEST_CASE("http response: what is none, or could be read in two ways, is refused", "[net]") {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  CHECK(refusal_of("SSH-2.0-OpenSSH_9.2\r\n") == "400 it begins with 'S'");
  for (const std::string& bytes :
       {std::string("\0\1\2", 3),
        std::string("HTTP/2 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 20 OK\r\n\r\n"),
        std::string("HTTP/1.1 999 OK\r\n\r\n"),
        std::string("HTTP/1.1 -20 OK\r\n\r\n"),
        std::string("HTTP/1.1\r\n\r\n"),
        head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        head + "Content-Length: -1\r\n\r\n",
        head + "Content-Length: 0x1\r\n\r\na",
        head + "Content-Length: 99999999999999999999\r\n\r\n",
        head + "Content-Length: 17000000\r\n\r\n",
        head + "Transfer-Encoding: gzip\r\n\r\n",
        head + "no header\r\n\r\n",
        head + " folded: x\r\n\r\n",
        head + ": x\r\n\r\n",
        head + "Content-Length: 3\r\n\r\nab",
        head + "Transfer-Encoding: chunked\r\n\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        head + "X: " + std::string(70'000, 'x'),
        head + "Transfer-Encoding: chunked\r\n\r\n" + std::string(70'000, '0')}) {
    CAPTURE(bytes.substr(0, 100));
    CHECK_FALSE(refusal_of(bytes).empty());
  }
  std::string announcements;
  for (int i = 0; i < 20; ++i) announcements += "HTTP/1.1 100 Continue\r\n\r\n";
  CHECK_FALSE(refusal_of(announcements).empty());
}

TEST_CASE("http response: many headers are as much as long ones", "[net]") {
  std::string bytes = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) bytes += "X" + std::to_string(i) + ": y\r\n";
  CHECK(refusal_of(bytes) == "431 the head has over 65536 bytes");
}

// ---- requests -----------------------------------------------------------------------------------

http_parser new_request() { return http_parser(http_parser::message::request, request_bounds); }

http_parser request_of(std::string_view bytes, bool by_byte) {
  return fed(new_request(), bytes, by_byte);
}

// "400 a line does not end with CR and LF", "complete" or "incomplete".
std::string outcome_of(std::string_view bytes) {
  std::string outcomes[2];
  for (const bool by_byte : {false, true}) {
    const http_parser parser = request_of(bytes, by_byte);
    std::string& outcome = outcomes[by_byte ? 1 : 0];
    outcome = parser.current() == state::complete ? "complete" : "incomplete";
    if (parser.current() != state::refused) continue;
    outcome = fmt::format("{} {}", parser.refusal().status, parser.refusal().problem);
  }
  CHECK(outcomes[0] == outcomes[1]);
  return outcomes[0];
}

TEST_CASE("http request: its parts", "[net]") {
  const bool by_byte = GENERATE(false, true);
  const http_parser parser = request_of(
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

TEST_CASE("http request: the next begins where one ends", "[net]") {
  const std::string first_request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::string bytes =
      first_request + "GET /b HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n";
  http_parser parser = new_request();
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

TEST_CASE("http request: HTTP/1.0 asks once and needs no host", "[net]") {
  const http_parser parser = request_of("GET / HTTP/1.0\r\n\r\n", false);
  CHECK(parser.current() == state::complete);
  CHECK_FALSE(parser.head().keeps_connection);
}

TEST_CASE("http request: what could be read in two ways is refused", "[net]") {
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
      {head + "Content-Length: +1\r\n\r\n", "400 '+1' is not a length"},
      {head + "Content-Length: 1, 1\r\n\r\n", "400 '1, 1' is not a length"},
      {head + "Content-Length:\r\n\r\n", "400 '' is not a length"},
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

}  // namespace http_parser_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/net/detail/http_response_parser.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace http_response_parser_tests {

using elastic::detail::http_response_parser;

const std::string chunked_answer =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n1;more=yes\r\n \r\n0A\r\nworld12345\r\n0\r\nTrailer: t\r\n\r\n";

// Parses the bytes all at once, and byte by byte.
http_response_parser parser_of(std::string_view bytes, bool by_byte) {
  http_response_parser parser;
  if (!by_byte) parser.feed(bytes);
  for (std::size_t i = 0; by_byte && i < bytes.size(); ++i) parser.feed(bytes.substr(i, 1));
  return parser;
}

std::string refusal_of(std::string_view bytes) {
  std::string whole_refusal;
  std::string byte_refusal;
  for (std::string* refusal : {&whole_refusal, &byte_refusal}) {
    try {
      parser_of(bytes, refusal == &byte_refusal).end();
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::protocol_violation);
      *refusal = failure.what();
    }
  }
  CHECK(whole_refusal.empty() == byte_refusal.empty());
  CHECK(byte_refusal.size() < 250);
  return byte_refusal;
}

TEST_CASE("http response: a body of a given length", "[net]") {
  const bool by_byte = GENERATE(false, true);
  http_response_parser parser =
      parser_of("HTTP/1.1 404 Not Found\r\nContent-Length:  5 \r\nX-A: b\r\n\r\nhello", by_byte);
  CHECK(parser.is_complete());
  CHECK(parser.status() == 404);
  CHECK(parser.header("x-a") == "b");
  CHECK(parser.header("x-b").empty());
  CHECK(parser.take_body() == "hello");
  CHECK(parser.keeps_connection());
}

TEST_CASE("http response: a body in chunks", "[net]") {
  const bool by_byte = GENERATE(false, true);
  http_response_parser parser = parser_of(chunked_answer, by_byte);
  CHECK(parser.is_complete());
  CHECK(parser.take_body() == "hello world12345");
}

TEST_CASE("http response: a stream may be endless if somebody takes it", "[net]") {
  http_response_parser parser(10);
  parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 100; ++i) {
    parser.feed("4\r\nabcd\r\n");
    CHECK(parser.take_body() == "abcd");
  }
  CHECK_FALSE(parser.is_complete());
  parser.feed("4\r\nabcd\r\n4\r\nabcd\r\n");
  CHECK_THROWS_AS(parser.feed("4\r\nabcd\r\n"), elastic::error);
}

TEST_CASE("http response: a body up to the end of the connection", "[net]") {
  http_response_parser parser = parser_of("HTTP/1.0 400 Bad Request\r\n\r\nno", false);
  CHECK_FALSE(parser.is_complete());
  parser.end();
  CHECK(parser.is_complete());
  CHECK(parser.take_body() == "no");
  CHECK_FALSE(parser.keeps_connection());
}

TEST_CASE("http response: one without a body, and one that is announced", "[net]") {
  CHECK(parser_of("HTTP/1.1 204 No Content\r\n\r\n", false).is_complete());
  http_response_parser parser = parser_of(
      "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"
      "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
      true);
  CHECK(parser.is_complete());
  CHECK(parser.status() == 200);
  CHECK(parser.header("x").empty());
}

TEST_CASE("http response: what is none, or could be read in two ways, is refused", "[net]") {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  CHECK(refusal_of("SSH-2.0-OpenSSH_9.2\r\n") ==
        "the answer is not valid HTTP/1.1: it begins with 'S'");
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
        head + "Content-Length: 1\r\n\r\nab",
        head + "Content-Length: 3\r\n\r\nab",
        head + "Transfer-Encoding: chunked\r\n\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        chunked_answer + "x",
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
  CHECK(refusal_of(bytes) == "the answer is too long: its head has over 65536 bytes");
}

}  // namespace http_response_parser_tests

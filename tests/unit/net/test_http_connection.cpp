// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/http_connection.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/scripted_server.hpp>
#include <support/reserved_port.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace http_connection_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::error;
using elastic::task;
using elastic::detail::http_connection;
using elastic::detail::http_request;
using elastic::detail::http_response;
using elastic::test::scripted_server;

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

task<std::unique_ptr<http_connection>> connect_to(std::uint16_t port) {
  elastic::endpoint address{"127.0.0.1", port};
  auto socket = co_await elastic::detail::connect_tcp(address);
  auto stream = std::make_unique<elastic::detail::socket_stream>(std::move(socket));
  co_return std::make_unique<http_connection>(std::move(stream), elastic::to_text(address));
}

// "200 ok", or what was wrong.
task<std::string> answer_of(http_connection& connection, std::string target = "/") {
  http_request request;
  request.target = std::move(target);
  try {
    const http_response response = co_await connection.exchange(std::move(request));
    co_return std::to_string(response.status) + " " + response.body;
  } catch (const error& failure) {
    co_return failure.what();
  }
}

CO_TEST("http connection: one request goes after the other", "[net]") {
  scripted_server server({{ok, ok}});
  auto connection = co_await connect_to(server.port());
  const std::string first_answer = co_await answer_of(*connection, "/a");
  CHECK(first_answer == "200 ok");
  CHECK(connection->is_usable());
  const std::string second_answer = co_await answer_of(*connection, "/b");
  CHECK(second_answer == "200 ok");
  const std::string requests = server.heard();
  CHECK(requests.find("GET /a HTTP/1.1\r\nHost: 127.0.0.1:") == 0);
  CHECK(requests.find("GET /b HTTP/1.1\r\n") != std::string::npos);
}

CO_TEST("http connection: is of no further use if the server says so", "[net]") {
  scripted_server server({{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}});
  auto connection = co_await connect_to(server.port());
  const std::string first_answer = co_await answer_of(*connection);
  CHECK(first_answer == "200 ok");
  CHECK_FALSE(connection->is_usable());
}

CO_TEST("http connection: a server that hangs up is not one that sends something else", "[net]") {
  const auto [reply, expected] = GENERATE(table<std::string, std::string>(
      {{"", "the server hung up without an answer"},
       {"HTTP/1.1 200 OK\r\nConte", "the server hung up in the middle of its answer"},
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "the server hung up in the middle of its answer"},
       {"HTTP/1.1 200 OK\r\n\r\nab", "200 ab"},
       {"220 smtp.example ESMTP\r\n",
        "the answer is not valid HTTP/1.1: it begins with '220 smtp.example ESMTP'"},
       {ok + "more", "the answer is not valid HTTP/1.1: there are bytes behind its end"}}));
  scripted_server server({{reply}});
  auto connection = co_await connect_to(server.port());
  const std::string answer = co_await answer_of(*connection);
  CHECK(answer == expected);
  CHECK_FALSE(connection->is_usable());
}

CO_TEST("http connection: a body is read as it comes", "[net]") {
  scripted_server server(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"}});
  auto connection = co_await connect_to(server.port());
  http_request request;
  const int status = co_await connection->begin(std::move(request));
  CHECK(status == 200);
  std::string body;
  for (;;) {
    const std::string piece = co_await connection->next_piece();
    if (piece.empty()) break;
    body += piece;
  }
  CHECK(body == "abcd");
  CHECK(connection->is_usable());
}

CO_TEST("http connection: a wait that is cancelled leaves nothing", "[net]") {
  scripted_server server({{scripted_server::silence}});
  auto connection = co_await connect_to(server.port());
  elastic::system_time time;
  task<std::string> answer_task = answer_of(*connection);
  const std::optional<std::string> answer =
      co_await elastic::with_deadline(time, time.now() + 20ms, std::move(answer_task));
  CHECK_FALSE(answer);
  CHECK_FALSE(connection->is_usable());
}

CO_TEST("tcp stream: says at which addresses nobody answers", "[net]") {
  const elastic::endpoint closed_endpoint{"127.0.0.1", elastic::test::reserved_port()};
  std::string problem;
  try {
    co_await elastic::detail::connect_tcp(closed_endpoint);
  } catch (const error& failure) {
    CHECK(failure.code() == errc::connection_failed);
    problem = failure.what();
  }
  CHECK(problem == elastic::to_text(closed_endpoint) + ": Connection refused");
}

}  // namespace http_connection_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/net/detail/tcp_message_channel.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace message_channel_tests {

using elastic::errc;
using elastic::task;
using elastic::detail::append_frame;
using elastic::detail::frame_reader;
using elastic::detail::message_channel;

TEST_CASE("frames: messages come out as they went in, in whatever pieces", "[net]") {
  std::string stream;
  append_frame(stream, "first");
  append_frame(stream, "");
  append_frame(stream, std::string(300, 'x'));
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    frame_reader reader(300);
    std::string text;
    for (std::size_t position = 0; position < stream.size(); position += piece) {
      reader.append(std::string_view(stream).substr(position, piece));
      while (const auto message = reader.next()) text += std::string(*message) + "|";
    }
    CHECK(text == "first||" + std::string(300, 'x') + "|");
  }
}

TEST_CASE("frames: a message over the bound is refused before it has come", "[net]") {
  std::string stream;
  append_frame(stream, std::string(11, 'x'));
  frame_reader reader(10);
  reader.append(std::string_view(stream).substr(0, 4));
  CHECK_THROWS_AS(reader.next(), elastic::error);
}

/// A listening socket, and what a client of it made of the other end.
struct meeting {
  explicit meeting(const asio::any_io_executor& executor)
      : acceptor(executor, {asio::ip::address_v4::loopback(), 0}), peer(executor) {}

  task<void> open(std::string greeting) {
    const std::uint16_t port = acceptor.local_endpoint().port();
    elastic::detail::tcp_message_connector connector({"127.0.0.1", port}, std::move(greeting),
                                                     1024);
    channel = co_await connector.connect();
    peer = co_await acceptor.async_accept(asio::use_awaitable);
  }

  task<std::string> read(std::size_t size) {
    std::string bytes(size, '\0');
    co_await asio::async_read(peer, asio::buffer(bytes), asio::use_awaitable);
    co_return bytes;
  }

  task<void> write(std::string bytes) {
    co_await asio::async_write(peer, asio::buffer(bytes), asio::use_awaitable);
  }

  asio::ip::tcp::acceptor acceptor;
  asio::ip::tcp::socket peer;
  std::shared_ptr<message_channel> channel;
};

task<std::error_code> receive_failure(std::shared_ptr<message_channel> channel) {
  try {
    co_await channel->receive();
  } catch (const std::system_error& failure) {
    co_return failure.code();
  }
  co_return std::error_code();
}

CO_TEST("message channel: greets, says and hears", "[net]") {
  meeting ends(co_await asio::this_coro::executor);
  co_await ends.open("hi\n");
  ends.channel->send("ping");
  co_await ends.channel->flush();
  const std::string bytes = co_await ends.read(11);
  CHECK(bytes == std::string("hi\n\x04\0\0\0ping", 11));
  std::string answer;
  append_frame(answer, "pong");
  append_frame(answer, "again");
  co_await ends.write(answer);
  const std::string first_message = co_await ends.channel->receive();
  const std::string second_message = co_await ends.channel->receive();
  CHECK(first_message == "pong");
  CHECK(second_message == "again");
  CHECK(ends.channel->local_address() == "127.0.0.1");
}

CO_TEST("message channel: the end of the connection is an error that says so", "[net]") {
  meeting ends(co_await asio::this_coro::executor);
  co_await ends.open("");
  ends.peer.close();
  const auto failure = co_await receive_failure(ends.channel);
  CHECK(failure == errc::connection_failed);
  // What is said then is lost.
  ends.channel->send("ping");
  ends.channel->send("ping");
}

CO_TEST("message channel: what is not a message is a violation", "[net]") {
  meeting ends(co_await asio::this_coro::executor);
  co_await ends.open("");
  co_await ends.write("HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto failure = co_await receive_failure(ends.channel);
  CHECK(failure == errc::protocol_violation);
}

CO_TEST("message channel: more than the socket takes leaves in its time, in order", "[net]") {
  meeting ends(co_await asio::this_coro::executor);
  co_await ends.open("");
  const std::string large_message(1'000'000, 'y');
  for (int i = 0; i < 8; ++i) ends.channel->send(large_message);
  ends.channel->send("end");
  const std::string bytes = co_await ends.read(8 * (large_message.size() + 4) + 7);
  CHECK(bytes.substr(bytes.size() - 3) == "end");
  co_await ends.channel->flush();
}

CO_TEST("message channel: an address that nobody serves is named", "[net]") {
  std::uint16_t port = 0;
  {
    asio::ip::tcp::acceptor closed_acceptor(co_await asio::this_coro::executor,
                                            {asio::ip::address_v4::loopback(), 0});
    port = closed_acceptor.local_endpoint().port();
  }
  elastic::detail::tcp_message_connector connector({"127.0.0.1", port}, "", 1024);
  std::string reason;
  try {
    co_await connector.connect();
  } catch (const elastic::error& failure) {
    reason = failure.what();
  }
  CHECK(reason == "127.0.0.1: Connection refused");
}

}  // namespace message_channel_tests

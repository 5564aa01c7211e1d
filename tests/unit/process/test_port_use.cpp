// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/port_use.hpp>

#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/raw_client.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace port_use_tests {

using elastic::detail::find_sockets;
using elastic::detail::listener_at;
using elastic::detail::listens_at;
using elastic::detail::look_at_port_use;
using elastic::detail::port_use;
using elastic::detail::sockets_to_port;
using asio::ip::tcp;

constexpr std::size_t many = 10'000;

TEST_CASE("port use: sockets of a table by the port that they lead to", "[process]") {
  const std::string head =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n";
  const std::string connected =
      "   0: 0100007F:A1B2 0100007F:733C 01 00000000:00000000 02:00000123 00000000  1000        0 "
      "4711 2 0000000000000000 20 4 30 10 -1\n";
  const std::string connecting =
      "   1: 0100007F:A1B3 0200007F:733C 02 00000001:00000000 01:00000064 00000001     0        0 "
      "4712 2\n";
  const std::string listening =
      "   2: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "4713 1\n";
  const std::string elsewhere =
      "   3: 0100007F:A1B4 0100007F:733D 01 00000000:00000000 00:00000000 00000000     0        0 "
      "4714 1\n";
  sockets_to_port found;
  const std::string nonsense = "nonsense\n\n  7: a b";
  find_sockets(head + connected + connecting + listening + elsewhere + nonsense, 29500, found);
  CHECK(found.connected == std::set<std::uint64_t>{4711});
  CHECK(found.connecting == std::set<std::uint64_t>{4712});
  CHECK(found.listening == std::set<std::uint64_t>{4713});
  // With the addresses of IPv6.
  find_sockets(
      "   0: 00000000000000000000000001000000:A1B2 00000000000000000000000001000000:733C 01 "
      "00000000:00000000 00:00000000 00000000     0        0 99 1",
      29500, found);
  CHECK(found.connected == std::set<std::uint64_t>{99, 4711});
}

TEST_CASE("port use: of this process, before and after it connects", "[process]") {
  asio::io_context context;
  tcp::acceptor server(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = server.local_endpoint().port();
  CHECK(look_at_port_use(::getpid(), port, many) == port_use::none);
  tcp::socket client(context);
  client.connect(server.local_endpoint());
  CHECK(look_at_port_use(::getpid(), port, many) == port_use::connected);
  CHECK(look_at_port_use(::getpid(), port, 1) == std::nullopt);
  client.close();
  CHECK(look_at_port_use(::getpid(), port, many) == port_use::none);
}

TEST_CASE("port use: who listens at a port", "[process]") {
  asio::io_context context;
  tcp::acceptor server(context, tcp::v4());
  server.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = server.local_endpoint().port();
  CHECK(listens_at(::getpid(), port, many) == false);
  server.listen();
  CHECK(listens_at(::getpid(), port, many) == true);
  CHECK(listens_at(::getpid(), port, 1) == std::nullopt);
  CHECK(listener_at(::getpid(), port) == "unit_tests (pid " + std::to_string(::getpid()) + ")");
  tcp::socket client(context);
  client.connect(server.local_endpoint());
  server.close();
  CHECK(listens_at(::getpid(), port, many) == false);
  CHECK(listener_at(::getpid(), port).empty());
}

TEST_CASE("port use: a socket has data that its peer has not received", "[process]") {
  asio::io_context context;
  tcp::acceptor server(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket client(context);
  client.connect(server.local_endpoint());
  tcp::socket peer = server.accept();
  CHECK(elastic::detail::has_unsent_data(::getpid(), many) == false);
  client.non_blocking(true);
  const std::string data(1 << 16, 'x');
  asio::error_code failure;
  std::size_t sent = 0;
  // Until the buffers of both ends are full.
  while (!failure) sent += client.write_some(asio::buffer(data), failure);
  CHECK(elastic::detail::has_unsent_data(::getpid(), many) == true);
  std::string received(sent, '\0');
  asio::read(peer, asio::buffer(received));
  CHECK(elastic::test::comes_true(
      [] { return elastic::detail::has_unsent_data(::getpid(), many) == false; }));
}

TEST_CASE("port use: the peer of a connection that nobody answers is named", "[process]") {
  asio::io_context context;
  const bool is_v6 = GENERATE(false, true);
  const std::string name = is_v6 ? "[::1]" : "127.0.0.1";
  const asio::ip::address host = asio::ip::make_address(is_v6 ? "::1" : "127.0.0.1");
  tcp::acceptor server(context, tcp::endpoint(host, 0).protocol());
  server.bind(tcp::endpoint(host, 0));
  server.listen(0);
  CHECK(elastic::detail::silent_peers(::getpid(), many).empty());
  // The kernel answers as many as it can queue.
  std::list<tcp::socket> clients;
  for (int each = 0; each < 8; ++each) {
    clients.emplace_back(context).async_connect(server.local_endpoint(), [](const auto&) {});
  }
  const std::string peer = name + ":" + std::to_string(server.local_endpoint().port());
  CHECK(elastic::detail::silent_peers(::getpid(), many) == std::vector<std::string>{peer});
  CHECK(elastic::detail::silent_peers(::getpid(), 0).empty());
  CHECK(elastic::detail::is_listened_at(::getpid(), server.local_endpoint().port()));
}

TEST_CASE("port use: connections of descendants count, and a process that has gone has none",
          "[process]") {
  asio::io_context context;
  tcp::acceptor server(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = server.local_endpoint().port();
  tcp::socket client(context);
  client.connect(server.local_endpoint());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  client.close();
  CHECK(look_at_port_use(::getpid(), port, many) == port_use::connected);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(look_at_port_use(::getpid(), port, many) == port_use::none);
  CHECK(look_at_port_use(child, port, many) == std::nullopt);
}

}  // namespace port_use_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/socket_hook.hpp>

#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <sys/socket.h>

#include <atomic>

namespace socket_hook_tests {

std::atomic<int> new_sockets{0};
std::atomic<int> accepted_sockets{0};

void count_socket(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  const bool is_accepted = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  ++(is_accepted ? accepted_sockets : new_sockets);
}

/// Counts the sockets of the library while it exists.
struct socket_count {
  socket_count() {
    new_sockets = accepted_sockets = 0;
    elastic::detail::tcp_socket_hook = count_socket;
  }
  ~socket_count() { elastic::detail::tcp_socket_hook = nullptr; }
};

CO_TEST("socket hook: it gets each socket of a store, of its clients and of streams", "[store]") {
  const auto executor = co_await asio::this_coro::executor;
  const socket_count count;
  elastic::tcp_store_server server(executor, elastic::tcp_store_server::options());
  const int listeners = new_sockets;
  CHECK(listeners >= 1);
  elastic::tcp_store::options options;
  options.port = server.port();
  elastic::tcp_store client(executor, options);
  co_await client.set("k", "v");
  CHECK(new_sockets == listeners + 1);
  CHECK(accepted_sockets == 1);
  const elastic::endpoint address("127.0.0.1", server.port());
  auto socket = co_await elastic::detail::connect_tcp(address);
  CHECK(new_sockets == listeners + 2);
  socket.close();
  client.close();
  co_await server.stop();
}

}  // namespace socket_hook_tests

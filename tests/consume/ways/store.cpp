// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A store alone: a server of PyTorch's TCPStore protocol and a client of it.

#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <string>

elastic::task<bool> run() {
  const auto executor = co_await asio::this_coro::executor;
  elastic::tcp_store_server server(executor, elastic::tcp_store_server::options());
  elastic::tcp_store::options options;
  options.port = server.port();
  elastic::tcp_store client(executor, options);
  const std::string key = "key";
  const std::string value = "value";
  co_await client.set(key, value);
  const std::string found = co_await client.get(key);
  client.close();
  co_await server.stop();
  co_return found == value;
}

int main() {
  asio::io_context context;
  auto succeeded = asio::co_spawn(context, run(), asio::use_future);
  context.run();
  return succeeded.get() ? 0 : 1;
}

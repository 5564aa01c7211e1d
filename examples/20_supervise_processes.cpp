// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Supervises two servers without a job: one that crashes starts again, and in the end both stop.
// It needs the target elastic::process alone.
//
//   build/release/examples/20_supervise_processes

#include <elastic/process.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <cstdio>

// [supervise]
elastic::task<void> supervise() {
  elastic::process_set servers(co_await asio::this_coro::executor);
  elastic::process_set::process server;
  server.process.program = "/bin/sh";
  server.process.arguments = {"-c", "exec sleep 600"};
  co_await servers.start(0, server);
  server.process.arguments = {"-c", "exit 7"};
  co_await servers.start(1, server);

  const elastic::process_set::process_end crash = co_await servers.next_end();
  std::printf("server %zu ended: %s\n", crash.index, crash.status.text().c_str());
  co_await servers.clear(crash.index);  // nothing that it had started is left
  server.process.arguments = {"-c", "exec sleep 600"};
  co_await servers.start(crash.index, server);

  elastic::stop_plan politely;
  politely.grace = std::chrono::seconds(5);
  co_await servers.stop(politely);  // nothing runs any more
  std::printf("%zu servers were stopped\n", servers.take_ends().size());
}
// [/supervise]

int main() {
  asio::io_context context;
  auto done = asio::co_spawn(context, supervise(), asio::use_future);
  context.run();
  done.get();
}

// Prints:
// server 1 ended: exit code 7
// 2 servers were stopped

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Replicas of one program, as an inference server has them: one that crashes starts again, and the
// others go on.
//
//   build/release/examples/12_replicas
//
// Replica 1 crashes once. When it is back, it sends SIGTERM to the server, which stops them all.

#include <elastic/elastic.hpp>
#include <elastic/roles.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace elastic;

// [serve]
task<void> serve() {
  launch_config config;
  config.workers.role = "server";
  config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  config.workers.environment = environment_from(environ);
  config.workers.environment["SERVER"] = std::to_string(::getpid());
  config.workers.nproc_per_node = 3;
  config.workers.max_restarts = 5;
  replica_set replicas(config);
  const run_result result = co_await run_with_signals(replicas);
  std::printf("%s; restarts: %d\n", result.reason.c_str(), result.restarts);
}
// [/serve]

int replica() {
  const worker_context me = this_worker();
  if (me.role_rank == 1 && me.restart_count == 0) return 3;
  if (me.role_rank == 1) ::kill(std::atoi(std::getenv("SERVER")), SIGTERM);
  for (;;) ::pause();
}

int main() {
  if (is_worker()) return replica();
  asio::io_context context;
  auto served = asio::co_spawn(context, serve(), asio::use_future);
  context.run();
  served.get();
}

// Prints:
// SIGTERM received; restarts: 1

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Two workers on this node: what to run, and how it ended.
//
//   build/release/examples/01_hello_launch

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <cstdio>

// [main]
int main() {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.contract = elastic::worker_contract::plain;
  config.workers.program = "sh";
  config.workers.arguments = {"-c", "echo \"hello from $RANK of $SIZE\""};
  config.workers.environment = elastic::environment_from(environ);
  config.workers.env = {{"RANK", "${rank}"}, {"SIZE", "${world_size}"}};
  config.workers.nproc_per_node = 2;

  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config), asio::use_future);
  context.run();
  const elastic::run_result result = job.get();
  std::printf("%s: %s\n", to_string(result.state).data(), result.reason.c_str());
  return result.state == elastic::worker_state::succeeded ? 0 : 1;
}
// [/main]

// Prints:
// hello from ... of 2
// hello from ... of 2
// SUCCEEDED: all workers ended with success

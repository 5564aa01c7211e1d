// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job of one node, whose workers get what the program names.

#include <elastic/launch.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

int main() {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.contract = elastic::worker_contract::plain;
  config.workers.program = "/bin/sh";
  config.workers.arguments = {"-c", "test $SIZE = 2"};
  config.workers.env = {{"SIZE", "${world_size}"}};
  config.workers.nproc_per_node = 2;
  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config), asio::use_future);
  context.run();
  return job.get().state == elastic::worker_state::succeeded ? 0 : 1;
}

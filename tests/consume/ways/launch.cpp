// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job of one node, whose workers get what torchrun gives them.

#include <elastic/launch.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/rendezvous/worker_store.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <memory>

int main() {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.program = "/bin/true";
  config.workers.nproc_per_node = 2;
  const auto backends = std::make_shared<elastic::rendezvous_registry>();
  elastic::add_worker_store(*backends);
  elastic::agent_services services;
  services.backends = backends;
  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config, services), asio::use_future);
  context.run();
  return job.get().state == elastic::worker_state::succeeded ? 0 : 1;
}

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job of two nodes, which meet over c10d.

#include <elastic/launch.hpp>
#include <elastic/net/free_port.hpp>
#include <elastic/nodes.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <memory>
#include <string>

int main() {
  elastic::launch_config config;
  config.workers.program = "/bin/true";
  config.rendezvous.backend = "c10d";
  config.rendezvous.endpoint = "127.0.0.1:" + std::to_string(elastic::free_port("127.0.0.1"));
  config.rendezvous.min_nodes = 2;
  config.rendezvous.max_nodes = 2;
  const auto backends = std::make_shared<elastic::rendezvous_registry>();
  elastic::add_nodes(*backends);
  elastic::agent_services services;
  services.backends = backends;
  asio::io_context context;
  config.rendezvous.node_name = "first";
  auto first = asio::co_spawn(context, elastic::launch(config, services), asio::use_future);
  config.rendezvous.node_name = "second";
  auto second = asio::co_spawn(context, elastic::launch(config, services), asio::use_future);
  context.run();
  const bool first_succeeded = first.get().state == elastic::worker_state::succeeded;
  return first_succeeded && second.get().state == elastic::worker_state::succeeded ? 0 : 1;
}

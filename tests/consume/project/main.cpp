// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "second.hpp"

// The single header has it already.
#if __has_include(<elastic/rendezvous/worker_store.hpp>)
#include <elastic/rendezvous/worker_store.hpp>
#endif

#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>

namespace {

#if defined(ELASTIC_HEADER_ONLY)
constexpr bool lacks_nodes = true;
#else
constexpr bool lacks_nodes = false;
#endif
#if defined(ELASTIC_HEADER_ONLY) || defined(CONSUMER_LACKS_ETCD)
constexpr bool lacks_etcd = true;
#else
constexpr bool lacks_etcd = false;
#endif

// A backend of an opt-in module that the program did not add is refused by a message that names the
// function; a compiled library has it, unless it was cut into parts without that module.
bool refuses_module() {
  elastic::rendezvous_parameters parameters;
  parameters.backend = "etcd";
  parameters.endpoint = "localhost:1";
  try {
    elastic::rendezvous_registry().make(parameters);
  } catch (const elastic::error& failure) {
    std::puts(failure.what());
    return std::string_view(failure.what()).find("add_etcd_rendezvous") != std::string_view::npos;
  }
  return false;
}

elastic::launch_config job() {
  elastic::launch_config config;
  config.workers.program = "/bin/true";
  config.workers.nproc_per_node = 2;
  config.standalone = true;
  return config;
}

// What a header-only program lacks is refused, never left out.
bool refuses(const elastic::launch_config& config, std::string_view remedy) {
  try {
    elastic::make_agent(config);
  } catch (const elastic::error& failure) {
    std::puts(failure.what());
    return std::string_view(failure.what()).find(remedy) != std::string_view::npos;
  }
  return false;
}

bool refuses_nodes_and_store() {
  elastic::launch_config nodes = job();
  nodes.standalone = false;
  nodes.rendezvous.backend = "c10d";
  nodes.rendezvous.endpoint = "localhost:1";
  nodes.rendezvous.min_nodes = nodes.rendezvous.max_nodes = 4;
  return refuses(nodes, "add_nodes(registry)") && refuses(job(), "add_worker_store(registry)");
}

elastic::task<bool> succeeds(elastic::launch_config config, elastic::agent_services services) {
  const elastic::run_result result = co_await elastic::launch(config, services);
  co_return result.state == elastic::worker_state::succeeded;
}

elastic::task<int> run() {
  elastic::agent_services services;
  elastic::launch_config plain = job();
  plain.workers.contract = elastic::worker_contract::plain;
  const bool is_plain_fine = co_await succeeds(plain, services);
  const auto backends = std::make_shared<elastic::rendezvous_registry>();
  elastic::add_worker_store(*backends);
  services.backends = backends;
  const bool is_torch_fine = co_await succeeds(job(), services);
  co_return is_plain_fine && is_torch_fine ? 0 : 1;
}

}  // namespace

int main() {
  if (category_in_second() != &elastic::error_category()) return 2;
  if (refuses_module() != lacks_etcd) return 4;
  if (refuses_nodes_and_store() != lacks_nodes) return 7;
  if (!adds_module_in_second()) return 5;
  if (!waits_an_hour_in_second()) return 6;
  elastic::asio::io_context context;
  int status = 3;
  elastic::asio::co_spawn(context, run(), [&](std::exception_ptr failure, int result) {
    if (failure) std::rethrow_exception(failure);
    status = result;
  });
  context.run();
  std::printf("elastic %s: %s\n", elastic::version_text, status == 0 ? "works" : "fails");
  return status;
}

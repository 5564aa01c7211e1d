// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/detail/gpu_nodes.hpp>
#include <elastic/launch/detail/numa_placement.hpp>
#include <elastic/launch/detail/processor_topology.hpp>
#include <elastic/launch/launch_config.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace placement_tests {

using elastic::launch_config;
using elastic::processor_set;
using elastic::detail::logical_processor;
using elastic::detail::processor_topology;
using elastic::test::temporary_directory;
using numbers = std::vector<int>;
using texts = std::vector<std::string>;

// Numbered as on x86 servers: the second threads of all cores come after all first ones.
struct machine {
  int sockets = 2;
  int nodes_per_socket = 2;
  int complexes_per_node = 2;
  int cores_per_complex = 2;

  int cores() const { return sockets * nodes_per_socket * complexes_per_node * cores_per_complex; }
  processor_topology topology() const {
    processor_topology processors;
    const int per_node = complexes_per_node * cores_per_complex;
    const int per_socket = per_node * nodes_per_socket;
    for (int number = 0; number < 2 * cores(); ++number) {
      const int core = number % cores();
      processors.push_back({number, core, core - core % cores_per_complex, core / per_node,
                            core - core % per_socket});
    }
    return processors;
  }
  processor_set all_processors() const {
    processor_set result;
    for (int number = 0; number < 2 * cores(); ++number) result.add(number);
    return result;
  }
};

texts placement_of(const machine& server, launch_config::processor_binding binding,
                   std::size_t workers, const numbers& gpu_nodes = {},
                   const processor_set& allowed_processors = {}) {
  const processor_set usable_processors =
      allowed_processors.empty() ? server.all_processors() : allowed_processors;
  const auto topology = server.topology();
  const auto nodes =
      elastic::detail::nodes_of_workers(topology, usable_processors, workers, gpu_nodes);
  texts lists;
  for (const processor_set& worker_processors :
       elastic::detail::place_workers(binding, topology, usable_processors, nodes)) {
    lists.push_back(worker_processors.text());
  }
  return lists;
}

TEST_CASE("placement: a worker gets its NUMA node, its socket, cores, or a complex", "[launch]") {
  const machine server;  // 16 cores: nodes 0-3, 4-7, 8-11, 12-15; their threads are 16 higher
  CHECK(placement_of(server, launch_config::processor_binding::none, 4).empty());
  CHECK(placement_of(server, launch_config::processor_binding::node, 4) ==
        texts{"0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"});
  CHECK(placement_of(server, launch_config::processor_binding::socket, 4) ==
        texts{"0-7,16-23", "0-7,16-23", "8-15,24-31", "8-15,24-31"});
  CHECK(placement_of(server, launch_config::processor_binding::exclusive, 8) ==
        texts{"0-1,16-17", "2-3,18-19", "4-5,20-21", "6-7,22-23", "8-9,24-25", "10-11,26-27",
              "12-13,28-29", "14-15,30-31"});
  CHECK(placement_of(server, launch_config::processor_binding::core_complex, 8) ==
        placement_of(server, launch_config::processor_binding::exclusive, 8));
  // More workers of a node than complexes: they share.
  CHECK(placement_of(server, launch_config::processor_binding::core_complex, 3, {1, 1, 1}) ==
        texts{"4-5,20-21", "6-7,22-23", "4-5,20-21"});
}

TEST_CASE("placement: workers follow their GPUs, else are dealt out over the nodes", "[launch]") {
  const machine server;
  const auto nodes = [&](std::size_t count, const numbers& gpus) {
    return elastic::detail::nodes_of_workers(server.topology(), server.all_processors(), count,
                                             gpus);
  };
  CHECK(nodes(4, {3, 3, 0, 0}) == numbers{3, 3, 0, 0});
  CHECK(nodes(8, {}) == numbers{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(nodes(2, {}) == numbers{0, 2});
  CHECK(nodes(1, {}) == numbers{0});
  CHECK(nodes(4, {-1, 7, 2}) == numbers{0, 1, 2, 3});
}

TEST_CASE("placement: exclusive cores never belong to two workers, and all are dealt out",
          "[launch]") {
  const machine server;
  for (std::size_t workers = 1; workers <= 16; ++workers) {
    CAPTURE(workers);
    std::set<int> processors;
    std::size_t sum = 0;
    const auto topology = server.topology();
    const auto nodes =
        elastic::detail::nodes_of_workers(topology, server.all_processors(), workers, {});
    for (const auto& worker_processors :
         elastic::detail::place_workers(launch_config::processor_binding::exclusive, topology,
                                        server.all_processors(), nodes)) {
      CHECK_FALSE(worker_processors.empty());
      sum += worker_processors.size();
      processors.insert(worker_processors.begin(), worker_processors.end());
    }
    CHECK(processors.size() == sum);
    if (workers >= 4) CHECK(sum == 32);
  }
}

TEST_CASE("placement: keeps to the processors that are allowed", "[launch]") {
  const machine server;
  const auto allowed_processors = processor_set::parse("5-7,20,12");
  CHECK(placement_of(server, launch_config::processor_binding::node, 2, {}, allowed_processors) ==
        texts{"5-7,20", "12"});
  CHECK(placement_of(server, launch_config::processor_binding::socket, 2, {1, 3},
                     allowed_processors) == texts{"5-7,20", "12"});
  CHECK(placement_of(server, launch_config::processor_binding::exclusive, 2, {1, 1},
                     allowed_processors) == texts{"5,20", "6-7"});
  CHECK_THROWS_WITH(placement_of(server, launch_config::processor_binding::exclusive, 2, {3, 3},
                                 allowed_processors),
                    Catch::Contains("NUMA node 3 has 1 core for 2 workers"));
}

// ---- what the kernel says -----------------------------------------------------------------------

void write(const std::string& file, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file) << text << '\n';
}

TEST_CASE("placement: the topology is read as the kernel lists it", "[launch]") {
  const temporary_directory sys;
  const machine server;
  const std::string system = sys / "devices/system";
  write(system + "/cpu/online", "0-31");
  write(system + "/node/online", "0-3");
  for (int node = 0; node < 4; ++node) {
    write(fmt::format("{}/node/node{}/cpulist", system, node),
          fmt::format("{}-{},{}-{}", node * 4, node * 4 + 3, node * 4 + 16, node * 4 + 19));
  }
  for (const logical_processor& processor : server.topology()) {
    const std::string cpu = fmt::format("{}/cpu/cpu{}", system, processor.number);
    write(cpu + "/topology/thread_siblings_list",
          fmt::format("{},{}", processor.core, processor.core + 16));
    write(cpu + "/topology/core_siblings_list",
          fmt::format("{}-{},{}-{}", processor.socket, processor.socket + 7, processor.socket + 16,
                      processor.socket + 23));
    write(cpu + "/cache/index0/level", "1");
    write(cpu + "/cache/index0/shared_cpu_list",
          fmt::format("{},{}", processor.core, processor.core + 16));
    write(cpu + "/cache/index1/level", "3");
    write(cpu + "/cache/index1/shared_cpu_list",
          fmt::format("{}-{}", processor.complex, processor.complex + 1));
  }
  CHECK(elastic::detail::read_processor_topology(sys.path()) == server.topology());
}

TEST_CASE("placement: what a kernel does not tell is one node with a core for each", "[launch]") {
  const temporary_directory sys;
  write(sys / "devices/system/cpu/online", "0-1");
  CHECK(elastic::detail::read_processor_topology(sys.path()) ==
        processor_topology{{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}});
  const temporary_directory empty_root;
  CHECK_THROWS_WITH(elastic::detail::read_processor_topology(empty_root.path()),
                    Catch::Contains("the processors are not listed there"));
}

TEST_CASE("placement: this machine has a topology", "[launch]") {
  CHECK_FALSE(elastic::detail::read_processor_topology().empty());
}

TEST_CASE("placement: GPUs are on the nodes of their PCI devices", "[launch]") {
  const temporary_directory root;
  const std::vector<std::pair<std::string, int>> gpus = {
      {"0000:3b:00.0", 0}, {"0000:5e:00.0", 0}, {"0000:af:00.0", 1}};
  for (const auto& [address, node] : gpus) {
    std::string driver_address = address;
    for (char& letter : driver_address) letter = static_cast<char>(std::toupper(letter));
    write(root / ("proc/driver/nvidia/gpus/" + driver_address + "/information"), "Model: any");
    write(root / ("sys/bus/pci/devices/" + address + "/numa_node"), std::to_string(node));
  }
  const auto nodes = [&](const elastic::environment_map& environment) {
    return elastic::detail::gpu_nodes(environment, root.path());
  };
  CHECK(nodes({}) == numbers{0, 0, 1});
  CHECK(nodes({{"CUDA_VISIBLE_DEVICES", "2,0"}}) == numbers{1, 0});
  CHECK(nodes({{"CUDA_VISIBLE_DEVICES", "GPU-1,9,2"}}) == numbers{-1, -1, 1});
  const temporary_directory empty_root;
  CHECK(elastic::detail::gpu_nodes({{"CUDA_VISIBLE_DEVICES", "0"}}, empty_root.path()).empty());
}

}  // namespace placement_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/numa_placement.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::vector<int> nodes_of_workers(const processor_topology& topology,
                                               const processor_set& allowed, std::size_t count,
                                               const std::vector<int>& gpu_nodes) {
  std::set<int> usable_nodes;
  for (const logical_processor& processor : topology) {
    if (allowed.contains(processor.number)) usable_nodes.insert(processor.numa_node);
  }
  const std::vector<int> nodes(usable_nodes.begin(), usable_nodes.end());
  std::vector<int> result;
  for (std::size_t worker = 0; worker < count && !nodes.empty(); ++worker) {
    const bool has_gpu = worker < gpu_nodes.size() && usable_nodes.count(gpu_nodes[worker]) > 0;
    result.push_back(has_gpu ? gpu_nodes[worker] : nodes[worker * nodes.size() / count]);
  }
  return result;
}

/// The allowed processors of a node in groups, ordered by group number.
template <class GroupOf>
std::vector<processor_set> groups_of_node(const processor_topology& topology,
                                          const processor_set& allowed, int node,
                                          const GroupOf& group_of) {
  std::map<int, processor_set> groups;
  for (const logical_processor& processor : topology) {
    if (processor.numa_node != node || !allowed.contains(processor.number)) continue;
    groups[group_of(processor)].add(processor.number);
  }
  std::vector<processor_set> result;
  for (const auto& [first, group] : groups) result.push_back(group);
  return result;
}

inline processor_set all_of_node(const processor_topology& topology, const processor_set& allowed,
                                 int node) {
  processor_set processors;
  for (const logical_processor& processor : topology) {
    if (processor.numa_node == node && allowed.contains(processor.number))
      processors.add(processor.number);
  }
  return processors;
}

inline processor_set all_of_sockets(const processor_topology& topology,
                                    const processor_set& allowed, int node) {
  std::set<int> sockets;
  for (const logical_processor& processor : topology) {
    if (processor.numa_node == node) sockets.insert(processor.socket);
  }
  processor_set processors;
  for (const logical_processor& processor : topology) {
    if (sockets.count(processor.socket) > 0 && allowed.contains(processor.number))
      processors.add(processor.number);
  }
  return processors;
}

/// The `slot`th share of a node's cores among `count` workers.
inline processor_set share_of_node(const processor_topology& topology, const processor_set& allowed,
                                   int node, std::size_t slot, std::size_t count) {
  const auto cores = groups_of_node(
      topology, allowed, node, [](const logical_processor& processor) { return processor.core; });
  if (cores.size() < count) {
    throw error(errc::invalid_argument,
                fmt::format("NUMA node {} has {} core{} for {} workers: with the binding exclusive "
                            "each needs one of its own",
                            node, cores.size(), cores.size() == 1 ? "" : "s", count));
  }
  processor_set share;
  for (std::size_t core = slot * cores.size() / count; core < (slot + 1) * cores.size() / count;
       ++core) {
    for (const int number : cores[core]) share.add(number);
  }
  return share;
}

inline processor_set complex_of_node(const processor_topology& topology,
                                     const processor_set& allowed, int node, std::size_t slot) {
  const auto complexes =
      groups_of_node(topology, allowed, node,
                     [](const logical_processor& processor) { return processor.complex; });
  return complexes[slot % complexes.size()];
}

ELASTIC_DECL std::vector<processor_set> place_workers(launch_config::processor_binding how,
                                                      const processor_topology& topology,
                                                      const processor_set& allowed,
                                                      const std::vector<int>& nodes) {
  std::vector<processor_set> bindings;
  if (how == launch_config::processor_binding::none) return bindings;
  std::map<int, std::size_t> placed;
  for (const int node : nodes) {
    const std::size_t slot = placed[node]++;
    switch (how) {
      case launch_config::processor_binding::none:
      case launch_config::processor_binding::node:
        bindings.push_back(all_of_node(topology, allowed, node));
        break;
      case launch_config::processor_binding::socket:
        bindings.push_back(all_of_sockets(topology, allowed, node));
        break;
      case launch_config::processor_binding::exclusive: {
        const auto count = static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), node));
        bindings.push_back(share_of_node(topology, allowed, node, slot, count));
        break;
      }
      case launch_config::processor_binding::core_complex:
        bindings.push_back(complex_of_node(topology, allowed, node, slot));
        break;
    }
  }
  return bindings;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/numa_binding.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::vector<int> nodes_of_workers(const processor_topology& topology,
                                               const processor_set& allowed, std::size_t count,
                                               const std::vector<int>& gpu_nodes) {
  std::set<int> found;
  for (const logical_processor& one : topology) {
    if (allowed.contains(one.number)) found.insert(one.numa_node);
  }
  const std::vector<int> nodes(found.begin(), found.end());
  std::vector<int> result;
  for (std::size_t worker = 0; worker < count && !nodes.empty(); ++worker) {
    const bool has_gpu = worker < gpu_nodes.size() && found.count(gpu_nodes[worker]) > 0;
    result.push_back(has_gpu ? gpu_nodes[worker] : nodes[worker * nodes.size() / count]);
  }
  return result;
}

namespace detail {

/// The allowed processors of a node in groups, in the order of their first ones.
template <class GroupOf>
std::vector<processor_set> groups_of_node(const processor_topology& topology,
                                          const processor_set& allowed, int node,
                                          const GroupOf& group_of) {
  std::map<int, processor_set> groups;
  for (const logical_processor& one : topology) {
    if (one.numa_node != node || !allowed.contains(one.number)) continue;
    groups[group_of(one)].add(one.number);
  }
  std::vector<processor_set> result;
  for (const auto& [first, group] : groups) result.push_back(group);
  return result;
}

inline processor_set all_of_node(const processor_topology& topology, const processor_set& allowed,
                                 int node) {
  processor_set all;
  for (const logical_processor& one : topology) {
    if (one.numa_node == node && allowed.contains(one.number)) all.add(one.number);
  }
  return all;
}

inline processor_set all_of_sockets(const processor_topology& topology,
                                    const processor_set& allowed, int node) {
  std::set<int> sockets;
  for (const logical_processor& one : topology) {
    if (one.numa_node == node) sockets.insert(one.socket);
  }
  processor_set all;
  for (const logical_processor& one : topology) {
    if (sockets.count(one.socket) > 0 && allowed.contains(one.number)) all.add(one.number);
  }
  return all;
}

/// The `place`th share of a node's cores among `count` workers.
inline processor_set share_of_node(const processor_topology& topology, const processor_set& allowed,
                                   int node, std::size_t place, std::size_t count) {
  const auto cores = groups_of_node(topology, allowed, node,
                                    [](const logical_processor& one) { return one.core; });
  if (cores.size() < count) {
    throw error(errc::invalid_argument,
                fmt::format("NUMA node {} has {} core{} for {} workers: with the binding exclusive "
                            "each needs one of its own",
                            node, cores.size(), cores.size() == 1 ? "" : "s", count));
  }
  processor_set share;
  for (std::size_t core = place * cores.size() / count; core < (place + 1) * cores.size() / count;
       ++core) {
    for (const int number : cores[core]) share.add(number);
  }
  return share;
}

inline processor_set complex_of_node(const processor_topology& topology,
                                     const processor_set& allowed, int node, std::size_t place) {
  const auto complexes = groups_of_node(topology, allowed, node,
                                        [](const logical_processor& one) { return one.complex; });
  return complexes[place % complexes.size()];
}

}  // namespace detail

ELASTIC_DECL std::vector<processor_set> place_workers(numa_binding how,
                                                      const processor_topology& topology,
                                                      const processor_set& allowed,
                                                      const std::vector<int>& nodes) {
  std::vector<processor_set> places;
  if (how == numa_binding::none) return places;
  std::map<int, std::size_t> placed;
  for (const int node : nodes) {
    const std::size_t place = placed[node]++;
    switch (how) {
      case numa_binding::none:
      case numa_binding::node:
        places.push_back(detail::all_of_node(topology, allowed, node));
        break;
      case numa_binding::socket:
        places.push_back(detail::all_of_sockets(topology, allowed, node));
        break;
      case numa_binding::exclusive: {
        const auto count = static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), node));
        places.push_back(detail::share_of_node(topology, allowed, node, place, count));
        break;
      }
      case numa_binding::core_complex:
        places.push_back(detail::complex_of_node(topology, allowed, node, place));
        break;
    }
  }
  return places;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_assignment.hpp>

#include <elastic/base/error.hpp>

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::vector<assigned_ranks> assign_ranks(const std::vector<role_info>& nodes) {
  std::vector<assigned_ranks> assigned(nodes.size());
  int world_size = 0;
  std::unordered_map<std::string_view, int> role_sizes;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].local_world_size < 1) {
      throw error(errc::invalid_argument,
                  fmt::format("the node of group rank {} has {} workers: 1 is the least", node,
                              nodes[node].local_world_size));
    }
    int& role_size = role_sizes[nodes[node].role];
    assigned[node].base_rank = world_size;
    assigned[node].base_role_rank = role_size;
    world_size += nodes[node].local_world_size;
    role_size += nodes[node].local_world_size;
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    assigned[node].world_size = world_size;
    assigned[node].role_world_size = role_sizes.at(nodes[node].role);
  }
  return assigned;
}

}  // namespace elastic

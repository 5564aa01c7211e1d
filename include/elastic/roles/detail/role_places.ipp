// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_places.hpp>

#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/roles/role.hpp>

#include <algorithm>

namespace elastic::detail {

ELASTIC_DECL std::optional<std::size_t> place_of(const std::vector<role>& roles,
                                                 const std::string& name) {
  const auto found = std::find_if(roles.begin(), roles.end(),
                                  [&](const role& each) { return each.name == name; });
  if (found == roles.end()) return std::nullopt;
  return static_cast<std::size_t>(found - roles.begin());
}

ELASTIC_DECL std::string hosted_endpoint(const role& which) {
  const rendezvous_parameters& meeting = which.config.rendezvous;
  const bool is_hosted = which.has_world && !which.config.standalone && meeting.backend == "c10d" &&
                         meeting.endpoint.find(',') == std::string::npos;
  if (!is_hosted) return {};
  return meeting.endpoint.empty() ? "localhost" : meeting.endpoint;
}

ELASTIC_DECL bool do_nodes_meet(const std::vector<role>& roles, const std::string& endpoint) {
  return std::any_of(roles.begin(), roles.end(), [&](const role& each) {
    return each.config.rendezvous.max_nodes > 1 && hosted_endpoint(each) == endpoint;
  });
}

ELASTIC_DECL std::optional<int> node_bound(const std::vector<role>& roles, const role& which) {
  const rendezvous_parameters& meeting = which.config.rendezvous;
  if (!which.has_world || which.config.standalone) return std::nullopt;
  if (meeting.max_nodes > 1) return meeting.max_nodes;
  const std::string address = hosted_endpoint(which);
  // With c10d and static, a role of one node meets nobody.
  const bool meets = address.empty() ? meeting.backend != "static" && meeting.backend != "c10d"
                                     : do_nodes_meet(roles, address);
  return meets ? std::optional<int>(1) : std::nullopt;
}

}  // namespace elastic::detail

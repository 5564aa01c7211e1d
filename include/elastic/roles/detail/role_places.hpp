// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

struct role;

namespace detail {

/// The index of a role in the list; empty if there is no such role.
ELASTIC_DECL std::optional<std::size_t> place_of(const std::vector<role>& roles,
                                                 const std::string& name);

/// The endpoint at which the nodes of a role meet if one of them hosts the server (c10d); empty:
/// they meet elsewhere, or not at all.
ELASTIC_DECL std::string hosted_endpoint(const role& which);

/// Whether the nodes of a role with several nodes meet at this endpoint.
ELASTIC_DECL bool do_nodes_meet(const std::vector<role>& roles, const std::string& endpoint);

/// The most nodes of the job on which a role runs at the same time; empty: it runs on each node,
/// independently.
ELASTIC_DECL std::optional<int> node_bound(const std::vector<role>& roles, const role& which);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_places.ipp>
#endif

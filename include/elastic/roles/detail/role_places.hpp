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

/// The place of a role in the list; none if there is no such role.
ELASTIC_DECL std::optional<std::size_t> place_of(const std::vector<role>& roles,
                                                 const std::string& name);

/// Where the nodes of a role meet if one of them hosts the server (c10d); empty: they do not.
ELASTIC_DECL std::string hosted_endpoint(const role& which);

/// Whether a role of several nodes meets there.
ELASTIC_DECL bool do_nodes_meet(const std::vector<role>& roles, const std::string& endpoint);

/// On how many nodes of the job a role is at the same time, at most; none: on each of them, where
/// it is by itself.
ELASTIC_DECL std::optional<int> node_bound(const std::vector<role>& roles, const role& which);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/role_places.ipp>
#endif

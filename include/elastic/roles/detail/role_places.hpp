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

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/role_places.ipp>
#endif

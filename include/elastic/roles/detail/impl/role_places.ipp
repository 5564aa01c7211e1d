// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_places.hpp>

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

}  // namespace elastic::detail

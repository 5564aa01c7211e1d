// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The options by which nodes meet.

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// "--master-addr", which may be an IPv6 address in brackets.
ELASTIC_DECL void read_master(const option_values& values, launch_config& config);

/// Options that the chosen way to meet does not look at.
ELASTIC_DECL void warn_of_unused(const option_values& values, const launch_config& config,
                                 std::vector<std::string>& warnings);

/// The options by which nodes meet.
ELASTIC_DECL void read_rendezvous(const option_values& values, launch_config& config,
                                  std::vector<std::string>& warnings);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/node_options.ipp>
#endif

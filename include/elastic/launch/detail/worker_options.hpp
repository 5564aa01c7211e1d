// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The options that say what runs on this node, and where.

#include <elastic/base/config.hpp>
#include <elastic/launch/command_line_facts.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

ELASTIC_DECL void read_workers(const option_values& values, const command_line_facts& facts,
                               launch_config& config);

/// "--env NAME=VALUE", each.
ELASTIC_DECL void read_variables(const option_values& values, launch_config& config);

ELASTIC_DECL void read_placement(const option_values& values, launch_config& config);

/// What every worker is: the interpreter with the script, or a program of its own.
ELASTIC_DECL void read_program(const option_values& values,
                               const std::vector<std::string>& operands, launch_config& config);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/worker_options.ipp>
#endif

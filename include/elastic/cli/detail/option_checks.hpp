// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Checks across options: contradictions, consequences, and options without effect.

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/given_options.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <elastic/cli/program_config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// Decides whether the node runs alone, and checks that the options of the rendezvous agree.
ELASTIC_DECL void settle_nodes(const given_options& options, const command_line::facts& facts,
                               launch_config& config, std::vector<std::string>& warnings);

/// Options that depend on the number of workers, restarts and signals.
ELASTIC_DECL void check_workers(const given_options& options, const launch_config& config);

ELASTIC_DECL void check_output(const given_options& options, const program_config& config,
                               std::vector<std::string>& warnings);

/// Sets the program of the workers: the interpreter with the script, or a program of its own.
ELASTIC_DECL void settle_program(const given_options& options,
                                 const std::vector<std::string>& operands,
                                 const command_line::facts& facts, option_target& target,
                                 std::vector<std::string>& warnings);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_checks.ipp>
#endif

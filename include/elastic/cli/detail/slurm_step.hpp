// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/given_options.hpp>
#include <elastic/cli/detail/option_type.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// Sentences about the settings taken from Slurm's variables, and about contradictions to them.
struct slurm_words {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// In a step of Slurm (`srun`) that has several nodes and one task on each, finds out from Slurm's
/// variables which nodes meet and where. Options win; `options` and `target` get only the rest.
///
/// Elsewhere nothing is taken: in a batch script, which runs on one of its job's nodes, in
/// a worker of another agent, and with --standalone.
/// Errors: `errc::invalid_argument` for a variable that would be used and says nothing sensible.
ELASTIC_DECL slurm_words adopt_slurm_step(given_options& options, const command_line::facts& facts,
                                          option_target& target);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/slurm_step.ipp>
#endif

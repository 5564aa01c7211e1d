// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/launch/command_line_facts.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/launch/io_choice.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>
#include <variant>
#include <vector>

namespace elastic {

/// What the arguments said.
struct command_line {
  launch_config config;
  /// The threshold for log lines: LOGLEVEL.
  log_level threshold = log_level::warning;
  /// ELASTIC_IO; `config.rendezvous.use_ring` follows from it.
  io_choice io = io_choice::automatic;
  /// What is allowed but surely not meant, one sentence each.
  std::vector<std::string> warnings;
  /// What was taken from elsewhere than options and PET_ variables, one sentence each.
  std::vector<std::string> notes;
};

/// The version was asked for: see `show_version`.
struct version_request {
  io_choice io = io_choice::automatic;
};

/// The arguments of `elasticrun` (without the program's own name) as a configuration, or why the
/// program should end now: version, help, or an error with exit code 2.
///
/// The options are torchrun's. Names may be written with dashes or underscores and be shortened as
/// long as they stay unique; of a repeated option the last counts; what follows the script is the
/// script's. An option that is not given has the value of PET_<NAME>, if that is not empty; those
/// of the rendezvous what Slurm's variables say, in a step that has several nodes.
///
/// A pure function: it looks at no file, device or environment but `facts`.
ELASTIC_DECL std::variant<command_line, version_request, early_exit> parse_command_line(
    const std::vector<std::string>& arguments, const command_line_facts& facts);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/command_line.ipp>
#endif

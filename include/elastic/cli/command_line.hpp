// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/cli/command_line_facts.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/cli/program_config.hpp>

#include <string>
#include <variant>
#include <vector>

namespace elastic {

/// What the arguments say.
struct command_line {
  /// The I/O that a program asks for: ELASTIC_IO.
  enum class io_choice {
    /// io_uring if it is available, else epoll.
    automatic,
    /// io_uring; without it the program ends.
    ring,
    /// Asio's reactor, even if io_uring is available.
    epoll,
  };

  /// The user asked for the version: see `show_version`.
  struct version_request {
    io_choice io = io_choice::automatic;
  };

  /// An option that the user gave, in whatever way.
  struct option {
    /// "--nproc-per-node".
    std::string name;
    /// Its value; "1" for a flag.
    std::string text;
    /// What the user wrote: the name, or a variable such as PET_NPROC_PER_NODE.
    std::string source;
  };

  program_config config;
  /// The threshold for log lines: LOGLEVEL.
  log_level threshold = log_level::warning;
  /// ELASTIC_IO; `config.job.rendezvous.use_ring` follows from it.
  io_choice io = io_choice::automatic;
  /// What is allowed but surely not meant, one sentence each.
  std::vector<std::string> warnings;
  /// What comes from elsewhere than options and PET_ variables, one sentence each.
  std::vector<std::string> notes;
  /// The options with which a job file is read (--job); empty without one.
  std::vector<option> options = {};
};

/// Reads the arguments of `elasticrun`, without the program's own name.
///
/// The options are torchrun's. Their names may have dashes or underscores and may be shortened as
/// long as they stay unique. The last one of a repeated option counts. The arguments after the
/// script are the script's. The default of an option is the value of PET_<NAME>, if that is not
/// empty, and for options of the rendezvous what Slurm's variables say, in a step with several
/// nodes.
///
/// Result: the configuration, or why the program should end now: version, help, or an error with
/// exit code 2. Errors: none.
/// A pure function: it looks at no file, device or environment but `facts`.
ELASTIC_DECL std::variant<command_line, command_line::version_request, early_exit>
parse_command_line(const std::vector<std::string>& arguments, const command_line_facts& facts);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/command_line.ipp>
#endif

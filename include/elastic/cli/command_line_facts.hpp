// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic {

/// The facts on which a command line depends besides its arguments.
struct command_line_facts {
  /// A command that takes the place of a script, such as "explain".
  struct command {
    std::string word;
    /// Its arguments and what it does, for --help.
    std::string arguments;
    std::string help;
  };

  /// The environment variables: PET_* defaults, PYTHON_EXEC and the like. The workers inherit them.
  environment_map environment;
  /// The values of "cpu" and "gpu" for --nproc-per-node: see count_processors, count_accelerators.
  int processors = 1;
  int accelerators = 0;
  /// The interpreter for scripts, unless PYTHON_EXEC names another program: see default_python.
  std::string python = "python3";
  /// The warning for a user who expects another one: see python_warning. Empty: none.
  std::string python_warning = {};

  /// Whether the job has a name without --rdzv-id, as the roles of a job file have.
  bool has_run_id = false;

  // About the program, for messages and --help.

  std::string program = "elasticrun";
  /// The program's commands, for --help and completions; it must recognize them itself.
  std::vector<command> commands = {};
  /// Whether the program injects the faults of --chaos; if not, --help omits the option, and it is
  /// refused.
  bool injects_faults = false;
  /// Whether the program runs the jobs of files (--job). As with --chaos.
  bool reads_job_files = false;
  /// Whether the program starts a worker under a debugger (--debug-rank). As with --chaos.
  bool offers_debugger = false;
};

/// The facts of this process and its machine; those about the program have their defaults.
/// Errors: none.
ELASTIC_DECL command_line_facts gather_command_line_facts();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/command_line_facts.ipp>
#endif

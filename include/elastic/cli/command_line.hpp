// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/cli/program_config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <variant>
#include <vector>

namespace elastic {

/// The parsed arguments.
struct command_line {
  /// The facts on which a command line depends besides its arguments.
  struct facts {
    /// A command that takes the place of a script, such as "explain".
    struct command {
      std::string word;
      /// The arguments of the command and what it does, for --help.
      std::string arguments;
      std::string help;
    };

    /// The environment variables: PET_* defaults, PYTHON_EXEC and the like. The workers inherit
    /// them.
    environment_map environment;
    /// The values of "cpu" and "gpu" for --nproc-per-node: see count_processors,
    /// count_accelerators.
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
    /// Whether the program injects the faults of --chaos; if not, --help omits the option, and it
    /// is refused.
    bool injects_faults = false;
    /// Whether the program runs the jobs of files (--job). As with --chaos.
    bool reads_job_files = false;
    /// Whether the program starts a worker under a debugger (--debug-rank). As with --chaos.
    bool offers_debugger = false;
    /// Whether the program runs workers in several tasks of a scheduler (`program_config::slots`).
    /// If not, each task is a job by itself.
    bool runs_slots = false;
  };

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

  /// An option that the user gave, as an argument or a variable.
  struct option {
    /// "--nproc-per-node".
    std::string name;
    /// The value of the option; "1" for a flag.
    std::string text;
    /// The text that the user wrote: the name, or a variable such as PET_NPROC_PER_NODE.
    std::string source;
  };

  program_config config;
  /// The threshold for log lines: LOGLEVEL.
  log_level threshold = log_level::warning;
  /// ELASTIC_IO; `config.job.rendezvous.use_ring` follows from it.
  io_choice io = io_choice::automatic;
  /// Warnings about input that is allowed but probably a mistake, one sentence each.
  std::vector<std::string> warnings;
  /// Values that come neither from options nor from PET_ variables, one sentence each.
  std::vector<std::string> notes;
  /// The options with which a job file is read (--job); empty without one.
  std::vector<option> options = {};
};

/// The facts of this process and its machine; those about the program have their defaults.
/// Errors: none.
ELASTIC_DECL command_line::facts gather_command_line_facts();

/// Reads the arguments of `elasticrun`, without the program's own name.
///
/// It knows torchrun's options and elasticrun's own. Names may have dashes or underscores and may
/// be shortened as long as they stay unique. If an option is repeated, the last one counts. The
/// arguments after the script belong to the script. The default of an option is the value of
/// PET_<NAME>, if that is not empty; rendezvous options also get defaults from Slurm's variables,
/// in a step with several nodes.
///
/// Result: the configuration, or why the program should end now: version, help, or an error with
/// exit code 2. Errors: none. A pure function: it uses no file, device or environment except
/// `facts`.
ELASTIC_DECL std::variant<command_line, command_line::version_request, early_exit>
parse_command_line(const std::vector<std::string>& arguments, const command_line::facts& facts);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/command_line.ipp>
#endif

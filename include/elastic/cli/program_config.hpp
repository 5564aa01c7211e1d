// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/chaos_plan.hpp>
#include <elastic/cli/debugger_plan.hpp>
#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/program_options.hpp>
#include <elastic/python/warm_standby.hpp>
#include <elastic/wire/wire_terms.hpp>

#include <string>
#include <vector>

namespace elastic {

/// Everything that the options of `elasticrun` set: the job, and what the program does around it.
struct program_config {
  /// The job, for `make_agent`.
  launch_config job;
  /// The options of `run_as_program`.
  program_options program;
  /// Whether the agent keeps standbys for its workers, and how: for `add_warm_standbys`.
  bool keeps_standbys = false;
  warm_standby standby;
  /// Which wire-ups the workers get: for `add_wire`, if there are any.
  wire_terms wire;
  /// The options of `add_diagnosis`.
  job_diagnosis diagnosis;
  /// The name of the job in the report of a failure, for `closing_words`: the script.
  std::string name;
  /// The script in the arguments, which must exist before anything is started; empty for a program
  /// without Python, or a Python module.
  std::string script;
  /// Whether a program with a terminal shows the progress of the workers there.
  bool progress = true;
  /// Whether equal lines of several workers appear once on the console.
  bool merges_output = false;
  /// The file of a job of several roles, which takes the place of the script ("-": standard input);
  /// empty: there is none. What changes its text, and whether to show it instead of running it.
  std::string job_file;
  std::vector<std::string> job_settings;
  bool prints_job = false;
  /// The faults that `elasticrun` injects on purpose.
  chaos_plan chaos;
  /// The worker that `elasticrun` starts under a debugger.
  debugger_plan debugger;
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <string>

namespace elastic {

/// What the command line is read against: all that is not in the arguments themselves.
struct command_line_facts {
  /// Gives the PET_* defaults, PYTHON_EXEC and the like, and is what workers inherit.
  environment_map environment;
  /// What "cpu" and "gpu" mean for --nproc-per-node: see count_processors, count_accelerators.
  int processors = 1;
  int accelerators = 0;
  /// What runs scripts if PYTHON_EXEC does not say: see default_python.
  std::string python = "python3";
};

}  // namespace elastic

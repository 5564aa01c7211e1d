// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/run_program.hpp>

#include <map>
#include <string>
#include <vector>

namespace elastic::test {

/// Runs a command that asks an agent, such as `elasticrun pause`. If the agent does not answer
/// within the 5 s of the command, as when a busy machine keeps it waiting, it carries out nothing,
/// and the command is run again.
inline program_result run_agent_command(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& changes = {}) {
  constexpr int most = 10;
  program_result result = run_program(command, changes);
  for (int time = 1; time < most; ++time) {
    const bool is_silent = result.err.find("does not answer") != std::string::npos;
    if (result.code != 2 || !is_silent) break;
    result = run_program(command, changes);
  }
  return result;
}

}  // namespace elastic::test

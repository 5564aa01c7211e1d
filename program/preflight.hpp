// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/early_exit.hpp>
#include <elastic/cli/program_config.hpp>

#include <optional>

namespace elasticrun {

/// Checks the files that a configuration names, so that a mistake is reported before the nodes meet
/// and the workers start: the script, the log directory, the journal, the trace and the drain file.
/// (`process_launcher` looks for the program itself when it starts it.)
///
/// Result: empty if all of them can be used; otherwise the error, with exit code 2.
std::optional<elastic::early_exit> check_files(const elastic::program_config& config);

}  // namespace elasticrun

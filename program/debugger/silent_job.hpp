// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/task.hpp>
#include <elastic/cli/program_config.hpp>

#include <string>

namespace elasticrun {

/// Changes a job so that its workers may be silent for as long as one of them is halted by a
/// debugger: nobody is taken for hung, or for a node that does not come to the end.
void tolerate_silence(elastic::program_config& config);

/// What the log, and the report of a failure, say about such a job; one line.
std::string silence_notice(int rank);

/// Asks the Python of the workers whether it has debugpy.
///
/// Errors: `errc::invalid_argument` if it has not, with how to install it; those of
/// `process_launcher`.
/// Cancellation: all types; the process ends.
elastic::task<void> demand_debugpy(elastic::worker_spec workers, int rank);

}  // namespace elasticrun

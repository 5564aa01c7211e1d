// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/task.hpp>
#include <elastic/cli/program_config.hpp>

#include <string>

namespace elasticrun {

/// Changes a job so that its workers may be silent while a debugger halts one of them: no worker
/// counts as hung, and no node as missing at the end of the job.
void tolerate_silence(elastic::program_config& config);

/// A line about such a job for the log and the failure report.
std::string silence_notice(int rank);

/// Checks that the Python interpreter of the workers has debugpy.
///
/// Errors: `errc::invalid_argument` if it does not; the message says how to install it. Those of
/// `process_launcher`.
/// Cancellation: all types; ends the process that checks.
elastic::task<void> demand_debugpy(elastic::worker_spec workers, int rank);

}  // namespace elasticrun

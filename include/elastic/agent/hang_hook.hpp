// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <string>

namespace elastic {

/// A command that looks into workers that hang, such as one that writes down their stacks, before
/// they are ended.
///
/// It is run by `/bin/sh -c` once for each worker that hangs, with the variables of the
/// worker_spec's `environment` and these:
///
///     ELASTIC_HUNG_RANK        the worker's rank in the job
///     ELASTIC_HUNG_LOCAL_RANK  its rank on this node
///     ELASTIC_HUNG_PID         its process, which runs
///     ELASTIC_HUNG_REASON      why it counts as hung
///     ELASTIC_HUNG_LOG_DIR     the directory of its log files; empty if there is none
///
/// What it writes goes to `hang.log` in that directory if the log directory was named, else to
/// the agent's stderr. Its standard input is empty.
struct hang_hook {
  /// Empty: none is run.
  std::string command = {};
  /// How long the hooks of one stop may take together before they are killed, with all that they
  /// have started; more than 0, at most `limits::hang_hook_timeout`.
  duration timeout = std::chrono::seconds(10);
};

/// Checks the bounds of a hang_hook. Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const hang_hook& hook);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/hang_hook.ipp>
#endif

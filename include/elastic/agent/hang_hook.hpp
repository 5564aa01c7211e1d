// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <string>

#include <fmt/format.h>

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
///     ELASTIC_HUNG_LOG_DIR     the directory of its log files; empty where there is none
///
/// What it writes goes to `hang.log` in that directory where the log directory was named, else to
/// the agent's stderr. Its standard input is empty.
struct hang_hook {
  /// Empty: none is run.
  std::string command = {};
  /// How long the hooks of one stop may take together before they are killed, with all that they
  /// have started; more than 0, at most `limits::hang_hook_timeout`.
  duration timeout = std::chrono::seconds(10);
};

/// Checks the bounds of a hang_hook. Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const hang_hook& hook) {
  if (hook.command.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument, "the command of the hang hook has a zero byte in it");
  }
  if (hook.timeout <= duration::zero() || hook.timeout > limits::hang_hook_timeout) {
    throw error(errc::invalid_argument,
                fmt::format("the hang hook's timeout is {} s: more than 0 and at most {} s are "
                            "allowed",
                            std::chrono::duration<double>(hook.timeout).count(),
                            limits::hang_hook_timeout.count()));
  }
}

}  // namespace elastic

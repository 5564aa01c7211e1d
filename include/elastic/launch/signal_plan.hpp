// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <csignal>
#include <vector>

namespace elastic {

/// What a program that runs an agent does on the signals that it gets. Default: torchrun's.
struct signal_plan {
  /// These stop the job in order; the workers get the same signal.
  std::vector<int> stop = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  /// These are passed on to the workers, and the job goes on.
  std::vector<int> forward = {};
};

/// Checks a signal_plan. Errors: `errc::invalid_argument` for a signal that a program cannot or
/// must not catch (SIGKILL and SIGSTOP, those of faults, and SIGCHLD, which is its host's), and for
/// one that is both to stop the job and to be passed on.
ELASTIC_DECL void validate(const signal_plan& plan);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/signal_plan.ipp>
#endif

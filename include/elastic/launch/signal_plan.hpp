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
  /// These are taken for SIGTERM, such as what a scheduler sends ahead of it. Workers start with
  /// them ignored, since some schedulers send them to every process of a job.
  std::vector<int> preempt = {};
};

/// Checks a signal_plan. Errors: `errc::invalid_argument` for a signal that a program cannot or
/// must not catch (SIGKILL and SIGSTOP, those of faults, and SIGCHLD, which is its host's), and for
/// one that stands in two of the lists.
ELASTIC_DECL void validate(const signal_plan& plan);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/signal_plan.ipp>
#endif

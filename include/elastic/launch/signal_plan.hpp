// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <csignal>
#include <vector>

namespace elastic {

/// The reactions of a program that runs an agent to the signals that it receives. The defaults are
/// torchrun's.
struct signal_plan {
  /// These stop the job cleanly; the workers receive the same signal.
  std::vector<int> stop = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  /// These are passed on to the workers, and the job continues.
  std::vector<int> forward = {};
  /// These act as SIGTERM, for example a signal that a scheduler sends in advance. Workers start
  /// with them ignored, since some schedulers send them to every process of a job.
  std::vector<int> preempt = {};
};

/// Checks a signal_plan. Errors: `errc::invalid_argument` for a signal that a program cannot or
/// must not catch (SIGKILL and SIGSTOP, the signals of faults, and SIGCHLD, which belongs to the
/// host program), and for a signal that is in two of the lists.
ELASTIC_DECL void validate(const signal_plan& plan);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/signal_plan.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <optional>

namespace elastic {

struct agent_services;

/// How an agent finds out which rank holds up a job.
struct job_diagnosis {
  /// What agents do when they have found out which rank holds up the job.
  enum class policy {
    /// They say so.
    warn,
    /// They say so, and if they are certain, they end that rank as a hung one. What follows is what
    /// follows any failure.
    restart,
    /// The same, but only for jobs of `on_failure::replace`: the others go on. If they cannot, all
    /// workers start again, and the log says why.
    replace,
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_diagnosis() = default;

  /// Workers that are Python programs open PyTorch's flight recorder (2.13 or later) and can show
  /// their stacks, and the nodes of a round answer each other's inspections. Without it, an
  /// inspection shows what the kernel knows about the workers of this node.
  bool opens_workers = false;
  /// With `opens_workers`: for how long a job stands still before its agents find out why. None: 30
  /// s, or five times the longest step that was reported, if that is longer.
  std::optional<duration> stall_after;
  /// What follows.
  policy on_stall = policy::warn;
};

/// Has the agent that is made with these services inspect its workers when it is asked to
/// (`job_command::kind::stacks`), and with `opens_workers` by itself when the job stands still.
/// Before a hung worker is ended, or the others of one that has aborted, they are inspected, too.
/// An extension that the services have already goes on beside it.
///
/// What is opened in a worker is closed to other users, and to the worker's children; see
/// docs/observe.md. Stacks have files, lines and functions, never values.
ELASTIC_DECL void add_diagnosis(agent_services& services, job_diagnosis terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/impl/job_diagnosis.ipp>
#endif

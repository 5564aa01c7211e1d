// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace elastic {

struct agent_services;

/// How an agent finds out which rank holds up a job.
struct job_diagnosis {
  /// What agents do after a diagnosis.
  enum class policy {
    /// They report it.
    warn,
    /// They report it and, if the verdict is certain, kill that rank as a hung worker, which is
    /// then a failure like any other.
    restart,
    /// The same, but only for jobs with `failure_policy::replace`: the other workers continue. If
    /// they cannot, all workers restart, and the log says why.
    replace,
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_diagnosis() = default;

  /// Workers that are Python programs open PyTorch's flight recorder (2.13 or later) and can show
  /// their stacks, and the nodes of a round answer each other's inspections. Without it, an
  /// inspection shows what the kernel knows about the workers of this node.
  bool opens_workers = false;
  /// With `opens_workers`: how long a job must make no progress before its agents diagnose it.
  /// Empty: 30 s, or five times the longest reported step if that is longer.
  std::optional<duration> stall_after;
  /// What agents do after a diagnosis.
  policy on_stall = policy::warn;
  /// Warnings in the log name workers of this node that apparently cannot continue: one reported an
  /// exception and does not end, or some workers of the job have ended with success and the others
  /// make no progress. This costs nothing until a worker gives such a sign.
  bool notices = false;
  /// With `notices`: the time after which an idle worker with a fatal exception (from its error
  /// file or PyTorch's hook for uncaught exceptions) is killed as a hung worker, with that
  /// exception as the reason. 0: it is never killed.
  duration end_after_error = std::chrono::seconds(30);
  /// The name of this node in verdicts and stacks. Empty: the host's name.
  std::string node_name;
};

/// Makes the agent that uses these services inspect its workers on request
/// (`job_command::kind::stacks`), and with `opens_workers` also by itself when the job stalls. The
/// workers are also inspected before a hung worker is killed, and before the other workers are
/// stopped when one has aborted. Errors: `errc::invalid_argument` if the services have a diagnosis
/// already.
///
/// Neither other users nor the worker's children can use the access that a worker opens; see
/// docs/observe.md. Stacks have files, lines and functions, never values.
ELASTIC_DECL void add_diagnosis(agent_services& services, job_diagnosis terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/impl/job_diagnosis.ipp>
#endif

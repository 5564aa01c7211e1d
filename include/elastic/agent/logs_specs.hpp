// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/stdio.hpp>

#include <string>
#include <vector>

namespace elastic {

/// Decides where the output of workers goes. Implement it to send it elsewhere; see
/// `agent_services::logs` and `logs_specs_registry`.
///
/// Counterpart: torch.distributed.elastic.multiprocessing.LogsSpecs and its `reify`.
/// Thread-safety: called on the agent's strand.
class ELASTIC_EXPORT logs_specs {
 public:
  /// The destinations of the two streams of one worker.
  struct worker_output {
    output_plan out = {};
    output_plan err = {};
  };

  /// The workers of one attempt, for whose output a plan is needed.
  struct attempt_logs {
    const worker_spec& spec;
    /// By local rank.
    const std::vector<worker_identity>& workers;
    /// Names their files; the directories of the attempt already exist, if there are any.
    const log_layout& layout;
    /// The name of this host.
    std::string host;
  };

  virtual ~logs_specs() = default;

  /// The plans for the workers of an attempt, one for each, by local rank. Called before each
  /// start, including restarts.
  ///
  /// Errors: an exception cancels the start, and no worker runs.
  virtual std::vector<worker_output> plan(const attempt_logs& attempt) = 0;
};

}  // namespace elastic

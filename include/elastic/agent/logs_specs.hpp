// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/log_file.hpp>
#include <elastic/process/stdio.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic {

/// Decides where the output of workers goes. Implement it to send it elsewhere; see
/// `agent_services::logs` and `logs_specs_registry`.
///
/// Counterpart: torch.distributed.elastic.multiprocessing.LogsSpecs and its `reify`.
/// Thread-safety: called on the agent's strand.
class logs_specs {
 public:
  /// Where the two streams of one worker go.
  struct worker_output {
    output_plan out;
    output_plan err;
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

/// Handles output as torchrun does, according to the fields of the worker_spec: redirects, tee and
/// filters. It keeps the end of stderr for the report if stderr is not in a file.
class default_logs_specs final : public logs_specs {
 public:
  ELASTIC_DECL std::vector<logs_specs::worker_output> plan(
      const logs_specs::attempt_logs& attempt) override;

 private:
  ELASTIC_DECL static std::shared_ptr<log_file> open(const log_layout& layout,
                                                     const std::string& path,
                                                     log_file::rotation rotation);
  ELASTIC_DECL static output_plan plan_stream(const logs_specs::attempt_logs& attempt,
                                              const worker_identity& who, std_streams stream,
                                              const std::shared_ptr<log_file>& matches);
  ELASTIC_DECL static bool is_shown(const log_options& options, int local_rank);

  // All members of the object of a line, but its text.
  ELASTIC_DECL static line_head object_head(const logs_specs::attempt_logs& attempt,
                                            const worker_identity& who, bool is_err);
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/logs_specs.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/config.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/log_file.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

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

  // The beginning of a line's JSON object: all members except its text.
  ELASTIC_DECL static line_head object_head(const logs_specs::attempt_logs& attempt,
                                            const worker_identity& who, bool is_err);
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/default_logs_specs.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/process/log_file.hpp>

#include <string>
#include <vector>

namespace elastic {

/// The options for the workers' output: what is shown, in which format, and what is kept.
struct log_options {
  /// How the workers' lines are shown.
  enum class line_format {
    /// As the worker wrote them; teed lines have a prefix.
    text,
    /// Each as a JSON object, whether teed or not: time, host, role, rank, local_rank, attempt,
    /// stream, text.
    json,
  };

  line_format format = line_format::text;
  /// The local ranks whose output is shown; empty: all. Log files are always complete.
  std::vector<int> local_ranks_filter = {};
  /// Lines of any worker's stdout that contain one of these texts are also written to
  /// `filtered_stdout.log` in the directory of the attempt, each with the worker's prefix.
  std::vector<std::string> duplicate_stdout_filters = {};
  /// The same for stderr and `filtered_stderr.log`.
  std::vector<std::string> duplicate_stderr_filters = {};
  /// When log files are rotated. With a size, redirected output also passes through the agent.
  log_file::rotation rotation = {};
};

/// Errors: `errc::invalid_argument`, naming the option that is impossible on a node with that many
/// workers.
ELASTIC_DECL void validate(const log_options& options, int local_world_size, bool has_files);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/log_options.ipp>
#endif

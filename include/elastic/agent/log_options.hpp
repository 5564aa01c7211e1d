// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/process/log_file.hpp>

#include <string>
#include <vector>

namespace elastic {

/// What is shown of the workers' output, how, and what of it is kept.
struct log_options {
  /// How lines of workers are shown.
  enum class line_format {
    /// As the worker wrote them; teed ones behind a prefix.
    text,
    /// Each as a JSON object, whether teed or not: time, host, role, rank, local_rank, attempt,
    /// stream, text.
    json,
  };

  line_format format = line_format::text;
  /// The local ranks whose output is shown; empty: all. Log files are complete all the same.
  std::vector<int> local_ranks_filter;
  /// Lines of any worker's stdout that contain one of these texts are also written to
  /// `filtered_stdout.log` in the directory of the attempt, each with the worker's prefix.
  std::vector<std::string> duplicate_stdout_filters;
  /// The same for stderr and `filtered_stderr.log`.
  std::vector<std::string> duplicate_stderr_filters;
  /// When log files are cut. With a size what is only redirected goes through the agent, too.
  log_file::rotation rotation;
};

/// Errors: `errc::invalid_argument`, naming what cannot be had on a node with so many workers.
ELASTIC_DECL void validate(const log_options& options, int local_world_size, bool has_files);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/log_options.ipp>
#endif

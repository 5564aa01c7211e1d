// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/process/log_file.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// How lines of workers are shown.
enum class log_format {
  /// As the worker wrote them; teed ones behind a prefix.
  text,
  /// Each as a JSON object, whether teed or not: time, host, role, rank, local_rank, attempt,
  /// stream, text.
  json,
};

/// What is shown of the workers' output, how, and what of it is kept.
struct log_options {
  log_format format = log_format::text;
  /// The local ranks whose output is shown; empty: all. Log files are complete all the same.
  std::vector<int> console_ranks;
  /// Lines of any worker's stdout that contain one of these texts are also written to
  /// `filtered_stdout.log` in the directory of the attempt, each with the worker's prefix.
  std::vector<std::string> stdout_filters;
  /// The same for stderr and `filtered_stderr.log`.
  std::vector<std::string> stderr_filters;
  /// When log files are cut. With a size what is only redirected goes through the agent, too.
  log_rotation rotation;
};

/// Errors: `errc::invalid_argument`, naming what cannot be had on a node with so many workers.
inline void validate(const log_options& options, int local_world_size, bool has_files) {
  for (const int rank : options.console_ranks) {
    if (rank < 0 || rank >= local_world_size) {
      throw error(errc::invalid_argument,
                  fmt::format("there is no local rank {}: with {} workers on this node they are 0 "
                              "to {}",
                              rank, local_world_size, local_world_size - 1));
    }
  }
  const bool filtered = !options.stdout_filters.empty() || !options.stderr_filters.empty();
  if (filtered && !has_files) {
    throw error(errc::invalid_argument,
                "lines that match a filter go to a file, but the log directory is /dev/null");
  }
  for (const auto* filters : {&options.stdout_filters, &options.stderr_filters}) {
    for (const std::string& text : *filters) {
      if (text.empty()) throw error(errc::invalid_argument, "a filter of lines is empty");
    }
  }
  if (options.rotation.max_files < 1 || options.rotation.max_files > limits::log_files) {
    throw error(errc::invalid_argument, fmt::format("{} files of one log: 1 to {} are allowed",
                                                    options.rotation.max_files,
                                                    limits::log_files));
  }
}

}  // namespace elastic

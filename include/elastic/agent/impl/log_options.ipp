// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_options.hpp>

#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void validate(const log_options& options, int local_world_size, bool has_files) {
  for (const int rank : options.local_ranks_filter) {
    if (rank < 0 || rank >= local_world_size) {
      throw error(errc::invalid_argument,
                  fmt::format("there is no local rank {}: the last one of this node is {}", rank,
                              local_world_size - 1));
    }
  }
  const bool filtered =
      !options.duplicate_stdout_filters.empty() || !options.duplicate_stderr_filters.empty();
  if (filtered && !has_files) {
    throw error(errc::invalid_argument,
                "lines that match a filter go to a file, but the log directory is /dev/null");
  }
  for (const auto* filters :
       {&options.duplicate_stdout_filters, &options.duplicate_stderr_filters}) {
    for (const std::string& text : *filters) {
      if (text.empty()) throw error(errc::invalid_argument, "a filter of lines is empty");
    }
  }
  if (options.rotation.max_files < 1 || options.rotation.max_files > limits::log_files) {
    throw error(errc::invalid_argument, fmt::format("{} files of one log: 1 to {} are allowed",
                                                    options.rotation.max_files, limits::log_files));
  }
}

}  // namespace elastic

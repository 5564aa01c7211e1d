// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>
#include <elastic/cli/program_config.hpp>

#include <functional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The text of a value and its source: "--tee" or "PET_TEE".
struct option_value {
  std::string text;
  std::string source;
};

/// The target of the options: the configuration, and flags that take effect with other options.
struct option_target {
  program_config config;
  bool module = false;
  bool no_python = false;
  bool run_path = false;
  bool no_progress = false;
  bool watch_workers = false;
};

/// The values of an option: which texts are allowed, and where they go.
struct option_type {
  /// Puts a value where it belongs.
  /// Errors: `errc::invalid_argument`, with the source, the text and what is allowed.
  std::function<void(const option_value&, const command_line::facts&, option_target&)> read;
  /// The value that a target has, as the user would write it; empty: it has none.
  std::function<std::string(const option_target&)> show = {};
  /// Valid words, for shell completion.
  std::vector<std::string> choices = {};
};

}  // namespace elastic::detail

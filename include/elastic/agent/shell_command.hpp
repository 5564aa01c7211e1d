// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <string>

namespace elastic {

/// A command that an agent runs by `/bin/sh -c`, with the variables of the worker_spec's
/// `environment`, an empty standard input, and an end: what it has started is killed with it.
struct shell_command {
  /// Empty: none is run.
  std::string command = {};
  /// How long it may take; more than 0, at most `limits::shell_command_timeout`.
  duration timeout = {};
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <string>

namespace elastic {

/// A command that an agent runs with `/bin/sh -c`, with the variables of the worker_spec's
/// `environment` and an empty standard input. When it ends, everything that it has started is
/// killed.
struct shell_command {
  /// Empty: no command is run.
  std::string command = {};
  /// How long it may take; more than 0, at most `limits::shell_command_timeout`.
  duration timeout = {};
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <csignal>
#include <optional>
#include <string>

namespace elastic {

/// How to stop an agent; the argument of `local_agent::stop`.
struct stop_request {
  /// The first signal to the workers. SIGKILL: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take before they are killed; empty: the worker_spec's.
  std::optional<duration> grace = {};
  /// For the log and the result, such as "SIGINT received".
  std::string reason = {};
  /// Whether the request kills the workers at once if the agent is already stopping. By default it
  /// then has no effect, so that independent parts of a program can request the same stop.
  bool escalates = false;
  /// Whether something is wrong with the node, so that it must stay out of the job for a while
  /// (`rendezvous_parameters::exclude_for`).
  bool is_node_bad = false;
  /// Whether the workers have served their purpose, such as servers whose client has succeeded. The
  /// request is then logged as information, not as a warning.
  bool is_planned = false;
};

}  // namespace elastic

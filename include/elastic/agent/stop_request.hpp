// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <csignal>
#include <optional>
#include <string>

namespace elastic {

/// How to stop an agent: asked for by `local_agent::stop`.
struct stop_request {
  /// The signal that the workers get first. SIGKILL: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take before they are killed; empty: the worker_spec's.
  std::optional<duration> grace = {};
  /// For the log and the result, such as "SIGINT received".
  std::string reason = {};
  /// What it means if the agent stops already: kill the workers at once; false: nothing more.
  bool escalates = true;
  /// Whether the node is not to come back for a while (`rendezvous_parameters::exclude_for`), since
  /// something is wrong with it.
  bool is_node_bad = false;
};

}  // namespace elastic

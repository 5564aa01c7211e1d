// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/contract/environment.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace elastic::detail {

/// How a worker_group calls the agent that owns it. Each function may be empty, and none may throw.
/// The group calls them on its strand.
struct group_owner {
  /// A worker has reported a step.
  std::function<void(std::int64_t step)> step = {};
  /// A worker has reported that its script can be run in advance up to a point.
  std::function<void()> prepared = {};
  /// Awaited before a hung worker is killed, or before the other workers are stopped when one has
  /// aborted. It must end by itself; its result is one sentence for the report.
  std::function<task<std::string>()> last_look = {};
  /// Changes the variables of a worker that is about to start.
  std::function<void(const worker_identity&, environment_map&)> change_environment = {};
  /// Chooses the descriptor that a worker gets; -1: none.
  std::function<int(int local_rank)> descriptor = {};
};

}  // namespace elastic::detail

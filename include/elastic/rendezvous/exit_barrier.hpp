// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>

#include <memory>
#include <string>

namespace elastic {

/// Waits until every agent of the round has come here, so that one that finishes early is not
/// taken for a lost node.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; this agent stays counted as having come.
/// Source: the barrier of PyTorch 2.4 and newer (`torchelastic/agent/terminal_state`).
inline task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size) {
  const std::string prefix = "torchelastic/agent/terminal_state/";
  const std::string last_key = prefix + "last_member";
  const std::int64_t arrived = co_await agents->add(prefix + "num_members", 1);
  if (arrived < group_world_size) {
    co_await agents->get(last_key);
  } else {
    // The last one knows, and does not ask: whoever serves the store may leave at this word.
    co_await agents->set(last_key, "<val_ignored>");
  }
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

namespace detail {

inline const std::string exit_barrier_prefix = "torchelastic/agent/terminal_state/";
inline const std::string exit_barrier_last = exit_barrier_prefix + "last_member";

/// This agent has come to the barrier. Result: how many have, as of then; the last one has told the
/// others so.
inline task<std::int64_t> come_to_exit_barrier(std::shared_ptr<store> agents,
                                               int group_world_size) {
  const std::string count = exit_barrier_prefix + "num_members";
  const std::int64_t arrived = co_await agents->add(count, 1);
  if (arrived >= group_world_size) {
    const std::string value = "<val_ignored>";
    co_await agents->set(exit_barrier_last, value);
  }
  co_return arrived;
}

/// Waits for the last one.
inline task<void> wait_at_exit_barrier(std::shared_ptr<store> agents) {
  co_await agents->get(exit_barrier_last);
}

}  // namespace detail

/// Waits until every agent of the round has come here, so that one that finishes early is not
/// taken for a lost node.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; this agent stays counted as having come.
/// Source: the barrier of PyTorch 2.4 and newer (`torchelastic/agent/terminal_state`).
inline task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size) {
  const std::int64_t arrived = co_await detail::come_to_exit_barrier(agents, group_world_size);
  // The last one knows, and does not ask: whoever serves the store may leave at this word.
  if (arrived < group_world_size) co_await detail::wait_at_exit_barrier(std::move(agents));
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>

namespace elastic {

namespace detail {

/// Reports that this agent has reached the barrier. Result: how many agents have so far. The last
/// agent also informs the others.
ELASTIC_DECL task<std::int64_t> come_to_exit_barrier(std::shared_ptr<store> agents,
                                                     int group_world_size);

/// What the last agent does for the others.
ELASTIC_DECL task<void> open_exit_barrier(std::shared_ptr<store> agents);

/// Waits for the last agent.
ELASTIC_DECL task<void> wait_at_exit_barrier(std::shared_ptr<store> agents);

}  // namespace detail

/// Waits until every agent of the round has reached the barrier, so that an agent that finishes
/// early does not count as a lost node.
///
/// Limit the wait with `with_deadline`.
/// Errors: those of the store.
/// Cancellation: all types; this agent still counts as having reached the barrier.
/// Source: the barrier of PyTorch 2.4 and newer (`torchelastic/agent/terminal_state`).
ELASTIC_DECL task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/exit_barrier.ipp>
#endif

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

/// This agent has come to the barrier. Result: how many have, as of then; the last one has told the
/// others so.
ELASTIC_DECL task<std::int64_t> come_to_exit_barrier(std::shared_ptr<store> agents,
                                                     int group_world_size);

/// Waits for the last one.
ELASTIC_DECL task<void> wait_at_exit_barrier(std::shared_ptr<store> agents);

}  // namespace detail

/// Waits until every agent of the round has come here, so that one that finishes early is not
/// taken for a lost node.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; this agent stays counted as having come.
/// Source: the barrier of PyTorch 2.4 and newer (`torchelastic/agent/terminal_state`).
ELASTIC_DECL task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/exit_barrier.ipp>
#endif

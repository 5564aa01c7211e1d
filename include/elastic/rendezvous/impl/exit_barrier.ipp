// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/exit_barrier.hpp>

#include <elastic/base/detail/required.hpp>
#include <elastic/rendezvous/detail/exit_keys.hpp>

#include <string>
#include <utility>

namespace elastic {

namespace detail {

ELASTIC_DECL task<std::int64_t> come_to_exit_barrier(std::shared_ptr<store> agents,
                                                     int group_world_size) {
  required(agents, "exit_barrier: the store of the agents");
  const std::string count = exit_count;
  const std::int64_t arrived = co_await agents->add(count, 1);
  if (arrived >= group_world_size) co_await open_exit_barrier(agents);
  co_return arrived;
}

ELASTIC_DECL task<void> open_exit_barrier(std::shared_ptr<store> agents) {
  const std::string last = exit_last;
  const std::string value = "<val_ignored>";
  co_await agents->set(last, value);
}

ELASTIC_DECL task<void> wait_at_exit_barrier(std::shared_ptr<store> agents) {
  const std::string last = exit_last;
  co_await agents->get(last);
}

}  // namespace detail

ELASTIC_DECL task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size) {
  const std::int64_t arrived = co_await detail::come_to_exit_barrier(agents, group_world_size);
  // The last agent knows the result and must not ask: the one that serves the store may already
  // leave.
  if (arrived < group_world_size) co_await detail::wait_at_exit_barrier(std::move(agents));
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_exit.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/rendezvous/detail/exit_keys.hpp>
#include <elastic/rendezvous/detail/gather.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL error closed_error(const std::string& run_id,
                                const std::optional<job_ending>& ending) {
  if (!ending) {
    return error(errc::rendezvous_closed,
                 fmt::format("the rendezvous '{}' was closed by a node of torchrun, which does "
                             "not say how the job has ended",
                             run_id));
  }
  const bool succeeded = ending->how == rendezvous_handler::job_end::succeeded;
  return error(succeeded ? errc::rendezvous_finished : errc::rendezvous_closed, ending->why);
}

ELASTIC_DECL task<void> try_to_leave(task<void> leaving, std::shared_ptr<time_source> time,
                                     logger log) {
  const time_point limit = time->now() + limits::rendezvous_leave_timeout;
  try {
    co_await with_deadline(*time, limit, std::move(leaving));
  } catch (const error& failure) {
    log.debug("could not leave the rendezvous: {}", failure.what());
  }
}

ELASTIC_DECL torch_exit::torch_exit(std::shared_ptr<store> agents, int rank, int size,
                                    torch_dialect dialect)
    : agents_(std::move(agents)),
      rank_(rank),
      size_(size),
      gathers_(agents_of(dialect) == rendezvous_round::agent_dialect::gather) {}

/// Opens the barrier in place of a node that was the last to come, and was lost before it did so.
inline task<void> open_when_counted(std::shared_ptr<store> agents, int size,
                                    std::shared_ptr<time_source> time, duration pause) {
  const std::string count = exit_count;
  std::int64_t arrived = 0;
  while (arrived < size) {
    co_await time->sleep_until(time->now() + pause);
    arrived = co_await agents->add(count, 0);
  }
  co_await open_exit_barrier(agents);
}

ELASTIC_DECL task<void> torch_exit::wait(std::shared_ptr<time_source> time, duration silence,
                                         std::function<task<void>()> announce) {
  has_begun_ = true;
  if (gathers_) {
    co_await gather(std::move(time), silence);
    co_return;
  }
  const std::shared_ptr<store> agents = agents_;
  const int size = size_;
  const std::int64_t arrived = co_await come_to_exit_barrier(agents, size);
  if (arrived >= size) co_return;
  if (announce) co_await announce();
  co_await race(wait_at_exit_barrier(agents), open_when_counted(agents, size, time, silence));
}

ELASTIC_DECL task<void> torch_exit::gather(std::shared_ptr<time_source> time, duration silence) {
  const std::shared_ptr<store> agents = agents_;
  const int rank = rank_;
  const int size = size_;
  const std::string prefix = exit_state;
  const std::string mine = std::to_string(rank);
  co_await publish_and_read(agents, prefix, mine, rank, size);
  if (rank != 0) co_return;
  // All have arrived, so a node that does not get to read that has died meanwhile.
  task<void> reading = wait_for_readers(agents, prefix, size);
  co_await with_deadline(*time, time->now() + silence, std::move(reading));
}

ELASTIC_DECL task<bool> torch_exit::is_passed(std::optional<rendezvous_handler::job_end> how) {
  if (!has_begun_) co_return false;
  if (how) co_return *how == rendezvous_handler::job_end::succeeded;
  std::vector<std::string> keys;
  if (gathers_) keys = rank_keys(exit_state, size_, "");
  if (!gathers_) keys.push_back(exit_last);
  const std::shared_ptr<store> agents = agents_;
  co_return co_await agents->check(std::move(keys));
}

ELASTIC_DECL task<void> torch_exit::release() {
  if (!gathers_ || size_ == 0) co_return;
  const std::string key = exit_state + std::to_string(rank_);
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back(key, std::to_string(rank_));
  pairs.emplace_back(key + gathered_suffix, "FIN");
  const std::shared_ptr<store> agents = agents_;
  co_await agents->multi_set(std::move(pairs));
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/chaos.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL chaos_monkey::chaos_monkey(asio::any_io_executor strand, chaos_plan plan,
                                        std::shared_ptr<time_source> time, logger log,
                                        std::function<void()> kill_node,
                                        std::shared_ptr<worker_observer> next)
    : plan_(std::move(plan)),
      time_(std::move(time)),
      log_(std::move(log)),
      kill_node_(std::move(kill_node)),
      next_(std::move(next)),
      begun_(std::move(strand)) {}

ELASTIC_DECL void chaos_monkey::started(const started_workers& job) {
  if (next_) next_->started(job);
  world_ = job;
  if (!begun_.is_set()) {
    log_.warning("chaos: this job is disturbed on purpose: {}", to_text(plan_));
    const std::string missing = missing_targets(plan_, job.world_size, job.group_world_size);
    if (!missing.empty()) {
      log_.warning("chaos: nothing happens to {}: there are {} ranks and {} nodes", missing,
                   job.world_size, job.group_world_size);
    }
    begun_at_ = time_->now();
    begun_.set();
  } else if (const auto fault = std::exchange(last_fault_, std::nullopt)) {
    log_.warning(
        "chaos: {} workers run again {:.3f} s after the last fault (round {}, restarts {})",
        job.world_size, std::chrono::duration<double>(time_->now() - *fault).count(), job.round,
        job.restarts);
  }
}

ELASTIC_DECL void chaos_monkey::progress(const worker_progress& made) {
  if (next_) next_->progress(made);
}

ELASTIC_DECL void chaos_monkey::hung(const hung_worker& worker) {
  if (next_) next_->hung(worker);
}

ELASTIC_DECL task<void> chaos_monkey::run(local_agent& agent) {
  co_await begun_.wait();
  detail::chaos_schedule schedule(plan_);
  while (const std::optional<detail::chaos_step> step = schedule.next()) {
    co_await time_->sleep_until(deadline_after(begun_at_, step->at));
    carry_out(agent, *step);
  }
  co_await time_->sleep_until(time_point::max());
}

ELASTIC_DECL void chaos_monkey::carry_out(local_agent& agent, const detail::chaos_step& step) {
  const int target = step.target_in(world_.world_size);
  if (!step.fault.empty()) last_fault_ = time_->now();
  if (step.of == chaos_fault::target::rank) {
    agent.signal_rank(target, step.signal, step.fault.empty() ? "" : "chaos: " + step.fault);
  } else if (target == world_.group_rank) {
    log_.warning("chaos: {}: this agent is killed", step.fault);
    kill_node_();
  }
}

}  // namespace elastic

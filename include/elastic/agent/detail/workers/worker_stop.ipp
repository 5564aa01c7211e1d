// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/worker_stop.hpp>

#include <elastic/base/race.hpp>

#include <algorithm>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL worker_stop::worker_stop(asio::any_io_executor strand, const worker_spec& spec,
                                      worker_group& group, agent_journal& journal,
                                      time_source& time)
    : spec_(spec), group_(group), journal_(journal), time_(time), requested_(std::move(strand)) {}

ELASTIC_DECL void worker_stop::take(const stop_request& request) {
  if (!request_) request_ = request;
  requested_.set();
}

ELASTIC_DECL task<void> worker_stop::run_until_requested(task<void> work) {
  co_await race(std::move(work), requested_.wait());
}

ELASTIC_DECL task<void> worker_stop::stop(stop_plan plan, duration limit) {
  if (request_) {
    plan = requested_plan(plan);
    return journal_.time_stop(plan, group_.stop(plan));
  }
  return journal_.time_stop(plan, stop_unless_requested(plan, limit));
}

ELASTIC_DECL stop_plan worker_stop::requested_plan(stop_plan plan) const {
  plan.signal = request_->signal;
  plan.grace = request_->grace.value_or(spec_.shutdown_timeout);
  return plan;
}

ELASTIC_DECL task<void> worker_stop::stop_unless_requested(stop_plan plan, duration limit) {
  co_await run_until_requested(stop_after_hooks(plan, limit));
  if (!request_) co_return;
  plan = requested_plan(plan);
  journal_.change_stop(plan);
  co_await group_.stop(plan);
}

/// The hooks may run until their deadline, but not longer than the other nodes wait.
ELASTIC_DECL task<void> worker_stop::stop_after_hooks(stop_plan plan, duration limit) {
  const time_point began = time_.now();
  co_await group_.finish_hooks(limit);
  plan.grace = std::min(plan.grace, std::max(limit - (time_.now() - began), duration::zero()));
  co_await group_.stop(plan);
}

}  // namespace elastic::detail

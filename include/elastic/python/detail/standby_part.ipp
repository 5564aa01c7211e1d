// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_part.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/control/detail/worker_liveness.hpp>
#include <elastic/python/detail/planned_restart.hpp>
#include <elastic/python/detail/standby_plan.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elastic::detail {

ELASTIC_DECL standby_part::standby_part(warm_standby terms,
                                                  agent_part::context agent)
    : terms_(std::move(terms)), context_(std::move(agent)) {}

ELASTIC_DECL std::shared_ptr<process_launcher> standby_part::wrap(
    std::shared_ptr<process_launcher> inner) {
  standby_set::services services;
  services.launcher = std::move(inner);
  services.time = context_.time;
  services.log = context_.log;
  services.replaces_processes = context_.replaces_workers;
  standbys_ =
      new_shared<standby_set>(context_.strand, terms_, std::move(services));
  standbys_->on_end(context_.process_ended);
  standbys_->on_change([this](const standby_set::counts& pool) { record(pool); });
  return standbys_;
}

ELASTIC_DECL duration standby_part::join_delay() {
  if (!joins_warm()) return duration::zero();
  context_.log.info("this node joins when its standbys are ready, at most {} s from now",
                    standby_plan::join_patience.count());
  return standby_plan::join_patience;
}

ELASTIC_DECL duration standby_part::stop_delay(const rendezvous_change& change) {
  const planned_restart plan = plan_restart(
      {change.kind, change.grace, standbys_->missing(), standbys_->off(), change.is_pause});
  if (plan.delay == duration::zero()) {
    context_.log.debug("the workers are stopped at once: {}", plan.reason);
    return plan.delay;
  }
  context_.log.info("{}: the workers continue for at most {}, since {}", change.reason,
                    worker_liveness::text_of(plan.delay), plan.reason);
  standbys_->hurry();
  return plan.delay;
}

ELASTIC_DECL task<void> standby_part::until_ready() { return standbys_->until_ready(); }

ELASTIC_DECL task<void> standby_part::prepare_attempt() {
  // Most rounds are joined sooner than this; standbys would then only delay their start.
  if (!joins_warm()) {
    const time_point now = context_.time->now();
    co_await context_.time->sleep_until(deadline_after(now, standby_plan::meeting_patience));
  }
  if (!has_begun_) standbys_->announce(context_.first_workers());
  if (do_workers_run()) {
    standbys_->hurry();
    co_await standbys_->maintain(true);
  } else {
    co_await standbys_->prestart();
  }
}

/// Whether workers have outlived their round.
ELASTIC_DECL bool standby_part::do_workers_run() const {
  const std::vector<attempt_worker> workers = context_.workers();
  return std::any_of(workers.begin(), workers.end(),
                     [](const attempt_worker& each) { return each.end.empty(); });
}

ELASTIC_DECL void standby_part::begin_attempt(const rendezvous_round&) {
  has_begun_ = true;
  stepped_.clear();
  standbys_->begin_attempt();
}

ELASTIC_DECL void standby_part::begin_replacement(const rendezvous_round&) {
  has_begun_ = true;
  stepped_.clear();
  standbys_->begin_replacement();
}

ELASTIC_DECL std::optional<run_result::worker_starts> standby_part::starts() const {
  return standbys_->starts();
}

ELASTIC_DECL void standby_part::progressed(const worker_progress& made) {
  const bool is_new = stepped_.insert(made.local_rank).second;
  const auto workers = static_cast<std::size_t>(context_.local_world_size);
  if (is_new && stepped_.size() == workers) standbys_->mark_stepped();
}

ELASTIC_DECL void standby_part::record(const standby_set::counts& pool) {
  job_event event;
  event.kind = job_event::type::standbys_changed;
  event.count = static_cast<std::int64_t>(pool.ready);
  event.making = static_cast<std::int64_t>(pool.making);
  event.bytes = static_cast<std::int64_t>(pool.bytes);
  context_.journal->record(std::move(event));
}

ELASTIC_DECL task<void> standby_part::beside_workers(bool may_restart) {
  return standbys_->maintain(may_restart);
}

ELASTIC_DECL void standby_part::end_attempt() { standbys_->check(); }

ELASTIC_DECL task<void> standby_part::end() { return standbys_->stop(); }

}  // namespace elastic::detail

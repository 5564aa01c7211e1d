// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job.hpp>

#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace elastic {

namespace detail {

inline int small_number(const std::optional<std::int64_t>& value, int otherwise) {
  return value ? static_cast<int>(*value) : otherwise;
}

inline worker_state state_of_end(std::string_view name) {
  if (name == "succeeded") return worker_state::succeeded;
  return name == "stopped" ? worker_state::stopped : worker_state::failed;
}

inline exit_status end_of_worker(const job_event& event) {
  if (event.exit_code) return exit_status::exited(static_cast<int>(*event.exit_code));
  if (event.signal) return exit_status::signalled(static_cast<int>(*event.signal));
  return exit_status::unknown();
}

inline void join_round(job::snapshot& state, const job_event& event) {
  state.round = small_number(event.round, state.round);
  state.group_rank = small_number(event.group_rank, 0);
  state.group_world_size = small_number(event.group_world_size, 0);
  state.world_size = small_number(event.world_size, 0);
}

inline void start_workers(job::snapshot& state, const job_event& event) {
  join_round(state, event);
  state.state = worker_state::healthy;
  state.workers.clear();
  for (std::size_t place = 0; place < event.pids.size(); ++place) {
    job::snapshot::worker& started = state.workers.emplace_back();
    started.local_rank = static_cast<int>(place);
    started.rank = small_number(event.base_rank, 0) + started.local_rank;
    started.pid = static_cast<pid_t>(event.pids[place]);
  }
}

inline void end_worker(job::snapshot& state, const job_event& event) {
  for (job::snapshot::worker& each : state.workers) {
    if (each.pid != event.pid) continue;
    each.is_running = false;
    each.end = end_of_worker(event);
  }
}

inline void end_all_workers(job::snapshot& state) {
  for (job::snapshot::worker& each : state.workers) each.is_running = false;
}

/// Follows the journal of a job for `job::view`. Thread-safety: any thread.
class job_tracker final : public journal_sink {
 public:
  void take(const journal_record& record) override {
    const std::lock_guard lock(mutex_);
    state_.apply(record.event);
    current_ = nullptr;
  }
  std::shared_ptr<const job::snapshot> view() const {
    const std::lock_guard lock(mutex_);
    if (!current_) current_ = new_shared<job::snapshot>(state_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  job::snapshot state_;
  /// A copy of the state for viewers; null: nobody has asked since the last change.
  mutable std::shared_ptr<const job::snapshot> current_;
};

}  // namespace detail

ELASTIC_DECL void job::snapshot::apply(const job_event& event) {
  switch (event.kind) {
    case job_event::type::round_joined: return detail::join_round(*this, event);
    case job_event::type::workers_started: return detail::start_workers(*this, event);
    case job_event::type::worker_ended: return detail::end_worker(*this, event);
    case job_event::type::workers_stopped: return detail::end_all_workers(*this);
    case job_event::type::workers_judged: state = detail::state_of_end(event.state); return;
    case job_event::type::round_ended: state = worker_state::init; return;
    case job_event::type::restart_decided:
      restarts = detail::small_number(event.restarts, restarts);
      return;
    case job_event::type::agent_ended:
      state = detail::state_of_end(event.state);
      has_ended = true;
      return;
    default: return;
  }
}

ELASTIC_DECL job::job(asio::any_io_executor executor, const launch_config& config)
    : job(std::move(executor), config, agent_services()) {}

ELASTIC_DECL job::job(asio::any_io_executor executor, const launch_config& config,
                      agent_services services)
    : executor_(std::move(executor)) {
  prepare(config, std::move(services));
}

ELASTIC_DECL void job::prepare(const launch_config& config, agent_services services) {
  detail::add_journal(services, config.rendezvous);
  journal_ = services.journal;
  tracker_ = detail::new_shared<detail::job_tracker>();
  agent_ = make_agent(config, services);
  journal_->add(tracker_);
}

ELASTIC_DECL job::~job() {
  journal_->remove(tracker_);
  agent_->stop(detail::stop_by_destructor("job"));
}

ELASTIC_DECL task<run_result> job::run() & {
  // Only `stop` ends the agent, so it always has a result.
  return detail::run_shielded<run_result>(
      executor_, agent_->run(), detail::stop_by_cancellation(detail::inbox_access::of(*agent_)));
}

ELASTIC_DECL std::shared_ptr<const job::snapshot> job::view() const { return tracker_->view(); }

ELASTIC_DECL void job::dump(std::ostream& out) const { agent_->dump(out); }

ELASTIC_DECL void job::stop(stop_request request) { agent_->stop(std::move(request)); }

ELASTIC_DECL void job::kill(std::string reason) {
  stop_request request;
  request.signal = SIGKILL;
  request.reason = std::move(reason);
  request.escalates = true;
  agent_->stop(std::move(request));
}

ELASTIC_DECL task<job_command::outcome> job::carry_out(job_command command) & {
  return agent_->carry_out(std::move(command));
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job.hpp>

#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/detail/run/run_activity.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/launcher.hpp>

#include <csignal>
#include <cstddef>
#include <memory>
#include <utility>

namespace elastic {

namespace detail {

inline std::unique_ptr<local_agent> make_recorded_agent(const launch_config& config,
                                                        agent_services services) {
  add_journal(services, config.rendezvous);
  return make_agent(config, services);
}

inline job::snapshot::worker shown_worker(const run_activity::worker& entry, std::size_t place) {
  job::snapshot::worker shown;
  shown.rank = static_cast<int>(entry.rank);
  shown.local_rank = static_cast<int>(place);
  shown.pid = static_cast<pid_t>(entry.pid);
  shown.is_running = entry.is_running;
  shown.end = entry.end;
  return shown;
}

}  // namespace detail

ELASTIC_DECL job::job(asio::any_io_executor executor, const launch_config& config)
    : job(std::move(executor), config, agent_services()) {}

ELASTIC_DECL job::job(asio::any_io_executor executor, const launch_config& config,
                      agent_services services)
    : executor_(std::move(executor)),
      agent_(detail::make_recorded_agent(config, std::move(services))) {}

ELASTIC_DECL job::~job() { agent_->stop(detail::stop_by_destructor("job")); }

ELASTIC_DECL task<run_result> job::run() & {
  // Only `stop` ends the agent, so it always has a result.
  return detail::run_shielded<run_result>(
      executor_, agent_->run(), detail::stop_by_cancellation(detail::inbox_access::of(*agent_)));
}

ELASTIC_DECL std::shared_ptr<const job::snapshot> job::view() const {
  const detail::run_activity run = detail::inbox_access::monitor_of(*agent_).activity();
  const auto view = detail::new_shared<snapshot>();
  view->state = run.state;
  view->has_ended = run.has_ended;
  view->round = static_cast<int>(run.round);
  view->group_rank = static_cast<int>(run.group_rank);
  view->group_world_size = static_cast<int>(run.group_world_size);
  view->world_size = static_cast<int>(run.world_size);
  view->restarts = static_cast<int>(run.restarts);
  for (const detail::run_activity::worker& each : run.workers) {
    view->workers.push_back(detail::shown_worker(each, view->workers.size()));
  }
  return view;
}

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

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/role_status.hpp>

#include <elastic/base/time.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/status/add_monitor.hpp>
#include <elastic/status/status_address.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

std::string text_of(const elastic::role::condition& condition) {
  const bool is_ready = condition.what == elastic::role::condition::event::ready;
  return condition.role + (is_ready ? ":ready" : ":success");
}

/// The view of the job before any role has started.
elastic::roles_monitor::snapshot view_before(const elastic::role_group::options& job) {
  elastic::roles_monitor::snapshot view;
  view.run_id = job.run_id;
  view.max_restarts = job.max_restarts;
  const std::string& name = job.roles.front().config.rendezvous.node_name;
  view.node = name.empty() ? elastic::host_name() : name;
  for (const elastic::role& role : job.roles) {
    elastic::roles_monitor::snapshot::role& shown = view.roles.emplace_back();
    shown.shown.name = role.name;
    shown.on_failure = to_string(role.on_failure);
    for (const auto& each : role.starts_after) shown.starts_after.push_back(text_of(each));
    shown.stops_with = role.stops_with;
    shown.has_world = role.has_world;
  }
  return view;
}

std::string state_of(const elastic::role_group::snapshot& job) {
  if (!job.is_over) return job.verdict == elastic::worker_state::init ? "running" : "stopping";
  if (job.verdict == elastic::worker_state::succeeded) return "succeeded";
  return job.verdict == elastic::worker_state::stopped ? "stopped" : "failed";
}

}  // namespace

role_status::role_status(const elastic::role_group::options& job,
                         const elastic::program_options& program)
    : roles_(job.roles), view_(view_before(job)) {
  if (program.status.empty()) return;
  options_.emplace();
  options_->address = elastic::parse_status_address(program.status);
  if (program.status_token_file.empty()) return;
  options_->token = elastic::read_status_token(program.status_token_file);
}

bool role_status::is_needed(const elastic::role_group::options& job,
                            const elastic::program_options& program) {
  const bool has_others =
      std::any_of(job.roles.begin(), job.roles.end(), [](const elastic::role& role) {
        return role.has_world && !role.config.standalone && role.config.rendezvous.max_nodes > 1;
      });
  return has_others || !program.status.empty();
}

void role_status::serve(asio::any_io_executor executor, const elastic::agent_services& services,
                        elastic::job_command::handler commands) {
  if (!options_) return;
  const elastic::wall_time now =
      services.time ? services.time->wall_now() : elastic::system_time().wall_now();
  view_.began_us =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  monitor_ = std::make_shared<elastic::roles_monitor>(view_, services.time);
  options_->roles = monitor_;
  options_->commands = std::move(commands);
  options_->time = services.time;
  options_->log = services.log;
  server_ = std::make_unique<elastic::status_server>(std::move(executor), *options_);
  std::fputs(fmt::format("Status: {}\n", server_->url()).c_str(), stderr);
}

void role_status::complete(std::size_t role, elastic::agent_services& services) {
  const elastic::launch_config& config = roles_[role].config;
  if (monitor_) {
    add_monitor(services, config.rendezvous, *monitor_, role);
    monitor_->monitor(role)->describe(config.workers);
  } else if (roles_[role].has_world && config.rendezvous.max_nodes > 1) {
    add_monitor(services, config.rendezvous);
  }
}

void role_status::change(elastic::role_group::snapshot now) {
  if (!monitor_) return;
  view_.state = state_of(now);
  view_.reason = now.reason;
  view_.restarts = now.restarts;
  for (std::size_t role = 0; role < view_.roles.size(); ++role) {
    view_.roles[role].shown = std::move(now.document.roles[role]);
    view_.roles[role].reason = std::move(now.reasons[role]);
  }
  monitor_->change(view_);
}

elastic::task<void> role_status::close() {
  if (server_) co_await server_->stop();
}

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/process/console_output.hpp>
#include <elastic/process/guarded_launcher.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline std::shared_ptr<process_launcher> make_guarded_launcher(
    const agent_services& services, const asio::any_io_executor& strand) {
  const agent_services::process_options& processes = services.processes;
  guarded_launcher::options options;
  options.policy = processes.guard.value_or(guard_policy::best_effort);
  // A worker in a slot is not a child of this process, so only a guard can watch it.
  if (processes.spawner) options.policy = guard_policy::required;
  options.spawner = processes.spawner;
  options.guard_file = processes.guard_file;
  options.unguarded.parent = processes.parent;
  options.unguarded.open_files = processes.open_files;
  options.log = services.log;
  return new_shared<guarded_launcher>(strand, std::move(options));
}

}  // namespace detail

ELASTIC_DECL void add_part(agent_services& services, std::string name, agent_part::factory make) {
  const bool is_known = std::any_of(services.parts.begin(), services.parts.end(),
                                    [&](const auto& part) { return part.name == name; });
  if (is_known) {
    throw error(errc::invalid_argument,
                fmt::format("the services of an agent have a part '{}' already", name));
  }
  services.parts.push_back({std::move(name), std::move(make)});
}

ELASTIC_DECL void add_part(agent_services& services, std::string name,
                           std::shared_ptr<agent_part> shared) {
  detail::required(shared, "add_part: the part");
  add_part(services, std::move(name),
           [shared = std::move(shared)](const agent_part::context&) { return shared; });
}

ELASTIC_DECL agent_services complete_services(agent_services services,
                                              const asio::any_io_executor& strand) {
  if (!services.time) services.time = detail::new_shared<system_time>();
  if (!services.journal) {
    job_journal::options options;
    options.node = host_name();
    options.time = services.time;
    options.log = services.log;
    services.journal = detail::new_shared<job_journal>(std::move(options));
  }
  if (!services.launcher) {
    services.launcher = detail::make_guarded_launcher(services, strand);
    if (!services.hook_launcher) services.hook_launcher = services.launcher;
  }
  if (!services.hook_launcher) {
    services.hook_launcher = detail::make_guarded_launcher(services, strand);
  }
  if (!services.console_out) {
    services.console_out = make_console_writer(strand, STDOUT_FILENO, services.log);
  }
  if (!services.console_err) {
    services.console_err = make_console_writer(strand, STDERR_FILENO, services.log);
  }
  return services;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/role_output.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/time.hpp>

#include <utility>

namespace elasticrun {

namespace {

/// Runs a console, and keeps it alive until the task has ended.
elastic::task<void> show_lines(std::shared_ptr<merged_output> console) {
  elastic::task<void> showing = console->run();
  co_await std::move(showing);
}

}  // namespace

role_output::role_output(asio::any_io_executor executor, std::vector<elastic::role> roles,
                         std::vector<bool> merges)
    : executor_(std::move(executor)),
      roles_(std::move(roles)),
      merges_(std::move(merges)),
      tasks_(executor_) {}

void role_output::complete(std::size_t role, elastic::agent_services& services) {
  if (!merges_[role]) return;
  services.logs = elastic::logs_specs_registry().make(roles_[role].config.logs_specs);
  const auto console = std::make_shared<merged_output>(
      executor_, roles_[role].name, std::make_shared<elastic::system_time>(), services);
  consoles_.push_back(console);
  tasks_.spawn(show_lines(console));
}

elastic::task<void> role_output::close() {
  co_await tasks_.stop();
  for (const auto& console : consoles_) {
    elastic::task<void> finishing = console->finish();
    co_await std::move(finishing);
  }
}

}  // namespace elasticrun

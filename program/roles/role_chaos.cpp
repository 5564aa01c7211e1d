// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/role_chaos.hpp>

#include <csignal>
#include <utility>

namespace elasticrun {

namespace {

/// Runs a monkey, and keeps it alive until the task has ended.
elastic::task<void> disturb(std::shared_ptr<chaos_monkey> monkey) {
  elastic::task<void> disturbing = monkey->run();
  co_await std::move(disturbing);
}

}  // namespace

role_chaos::role_chaos(asio::any_io_executor executor, std::vector<elastic::chaos_plan> plans)
    : executor_(std::move(executor)),
      plans_(std::move(plans)),
      monkeys_(plans_.size()),
      tasks_(executor_) {}

void role_chaos::complete(std::size_t role, elastic::agent_services& services) {
  if (plans_[role].empty()) return;
  std::shared_ptr<chaos_monkey>& monkey = monkeys_[role];
  if (!monkey) {
    monkey = std::make_shared<chaos_monkey>(executor_, plans_[role], services,
                                            [] { std::raise(SIGKILL); });
    tasks_.spawn(disturb(monkey));
  }
  add_chaos(services, monkey);
}

elastic::task<void> role_chaos::close() { return tasks_.stop(); }

}  // namespace elasticrun

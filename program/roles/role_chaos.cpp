// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/role_chaos.hpp>

#include <csignal>
#include <string>
#include <utility>

namespace elasticrun {

role_chaos::role_chaos(std::vector<elastic::chaos_plan> plans)
    : plans_(std::move(plans)), victims_(plans_.size()) {}

void role_chaos::begin(asio::any_io_executor executor, const elastic::agent_services&,
                       elastic::job_command::handler) {
  executor_ = std::move(executor);
  tasks_ = std::make_unique<elastic::task_group>(executor_);
}

void role_chaos::prepare(std::size_t role, elastic::agent_services& services) {
  if (plans_[role].empty()) return;
  std::shared_ptr<victim>& whom = victims_[role];
  if (!whom) {
    whom = std::make_shared<victim>();
    whom->monkey = std::make_shared<chaos_monkey>(executor_, plans_[role], services,
                                                  [] { std::raise(SIGKILL); });
    tasks_->spawn(disturb(whom));
  }
  add_part(services, "chaos", whom->monkey);
}

void role_chaos::begin_role(std::size_t role, worker_signal signal) {
  if (victims_[role]) victims_[role]->signal = std::move(signal);
}

elastic::task<void> role_chaos::disturb(std::shared_ptr<victim> whom) {
  const worker_signal to_present = [whom](int rank, int number, std::string reason) {
    if (whom->signal) whom->signal(rank, number, std::move(reason));
  };
  elastic::task<void> disturbing = whom->monkey->run(to_present);
  co_await std::move(disturbing);
}

elastic::task<void> role_chaos::close() {
  if (tasks_) co_await tasks_->stop();
}

}  // namespace elasticrun

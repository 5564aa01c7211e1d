// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_command.hpp>

#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/concurrent_run.hpp>

#include <exception>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void role_command::add(std::string role, role_plan::runner runner) {
  shares_.push_back({std::move(role), std::move(runner), {}});
}

ELASTIC_DECL void role_command::add_idle(std::string role, std::string why) {
  job_command::outcome outcome;
  outcome.text = std::move(why);
  shares_.push_back({std::move(role), std::nullopt, std::move(outcome)});
}

ELASTIC_DECL task<job_command::outcome> role_command::run(asio::any_io_executor strand) {
  std::vector<task<void>> tasks;
  for (std::size_t place = 0; place < shares_.size(); ++place) {
    if (shares_[place].runner) tasks.push_back(run_share(place));
  }
  if (!tasks.empty()) {
    const std::size_t count = tasks.size();
    task<concurrent_outcome> working =
        run_concurrently(strand, count, cancelled_by::first_failure, std::move(tasks));
    const concurrent_outcome ends = co_await std::move(working);
    for (const std::exception_ptr& failure : ends.failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
  co_return sum();
}

ELASTIC_DECL task<void> role_command::run_share(std::size_t place) {
  // The runner may leave its role meanwhile.
  const role_plan::runner runner = *shares_[place].runner;
  task<job_command::outcome> working =
      std::visit([this](const auto& each) { return each->carry_out(command_); }, runner);
  shares_[place].outcome = co_await std::move(working);
}

ELASTIC_DECL job_command::outcome role_command::sum() const {
  std::size_t asked = 0;
  std::size_t done = 0;
  for (const share& each : shares_) {
    if (each.runner) ++asked;
    if (each.outcome.is_done) ++done;
  }
  job_command::outcome outcome;
  outcome.is_done = done > 0 && done == asked;
  outcome.text = text();
  return outcome;
}

ELASTIC_DECL std::string role_command::text() const {
  std::string all;
  for (const auto& [role, runner, outcome] : shares_) {
    if (command_.what == job_command::kind::stacks) {
      const bool ends_line = outcome.text.ends_with('\n');
      all += fmt::format("role {}\n{}{}", role, outcome.text, ends_line ? "" : "\n");
    } else {
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", role, outcome.text);
    }
  }
  return all;
}

}  // namespace elastic::detail

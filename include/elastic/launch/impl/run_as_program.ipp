// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/run_as_program.hpp>

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/detail/signalled_run.hpp>
#include <elastic/launch/drain_file.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// The settings of a program_run, and what it derives from them.
struct program_plan {
  signal_plan signals;
  program_options options;
  agent_services services;
};

/// Refuses an option that has no effect without the module status.
inline void refuse_without_status(const char* option, const std::string& value) {
  if (value.empty()) return;
  throw error(errc::invalid_argument,
              fmt::format("program_options::{} needs the module status: call "
                          "add_status(options) of <elastic/status.hpp>",
                          option));
}

inline std::shared_ptr<const program_plan> plan_program(const launch_config& config,
                                                        const program_options& options,
                                                        const agent_services& services) {
  validate(config.signals);
  if (options.status.empty() && !options.status_token_file.empty()) {
    throw error(errc::invalid_argument,
                "program_options::status_token_file takes program_options::status");
  }
  const auto plan = new_shared<program_plan>();
  plan->signals = config.signals;
  plan->options = options;
  plan->services = services;
  if (options.complete) {
    options.complete(config, options, plan->services);
  } else {
    refuse_without_status("trace", options.trace);
    refuse_without_status("status", options.status);
  }
  return plan;
}

/// Stops the agent when the drain file appears. Ends only by cancellation.
inline task<void> stop_at_drain_file(std::string path, std::shared_ptr<local_agent> agent,
                                     std::shared_ptr<time_source> time, logger log) {
  if (!time) time = new_shared<system_time>();
  stop_request request;
  request.reason = co_await wait_for_drain_file(path, time, log);
  request.is_node_bad = true;
  agent->stop(std::move(request));
  co_await time->sleep_until(time_point::max());
}

inline task<run_result> run_planned(std::shared_ptr<const program_plan> plan,
                                    std::shared_ptr<local_agent> agent,
                                    std::vector<task<void>> companions) {
  const agent_services& services = plan->services;
  const std::string& drain_file = plan->options.drain_file;
  if (!drain_file.empty()) {
    companions.push_back(stop_at_drain_file(drain_file, agent, services.time, services.log));
  }
  task<run_result> running =
      run_signalled<run_result>(*agent, plan->signals, std::move(companions));
  co_return co_await std::move(running);
}

}  // namespace detail

ELASTIC_DECL program_run::program_run(named<launch_config> config, named<program_options> options,
                                      named<agent_services> services)
    : plan_(detail::plan_program(config, options, services)) {}

ELASTIC_DECL const agent_services& program_run::services() const { return plan_->services; }

ELASTIC_DECL task<run_result> program_run::run(std::shared_ptr<local_agent> agent,
                                               std::vector<task<void>> companions) const {
  return detail::run_planned(plan_, detail::required(std::move(agent), "program_run: the agent"),
                             std::move(companions));
}

ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options) {
  const agent_services services;
  return run_as_program(config, options, services);
}

ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options,
                                             named<agent_services> services) {
  const program_run program(config, options, services);
  return program.run(make_agent(config, program.services()));
}

}  // namespace elastic

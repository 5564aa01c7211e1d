// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/run_as_program.hpp>

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/detail/monitored_services.hpp>
#include <elastic/launch/drain_file.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/launch/run_with_signals.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/observe/job_command.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/output_tails.hpp>
#include <elastic/observe/status_address.hpp>
#include <elastic/observe/status_server.hpp>
#include <elastic/observe/trace_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// What a program_run was told, and has made from it.
struct program_plan {
  signal_plan signals;
  program_options options;
  agent_services services;
  /// For the status server, if `options` asks for one; it lacks the commands.
  status_server_options server;
};

/// What the page leaves out of the largest job that this may become; empty: nothing.
inline std::string left_out_of_page(const launch_config& config) {
  if (config.rendezvous.max_nodes <= 1) return {};
  const auto nodes = static_cast<std::size_t>(config.rendezvous.max_nodes);
  const std::size_t others =
      (nodes - 1) * static_cast<std::size_t>(std::max(config.workers.nproc_per_node, 0));
  if (nodes <= limits::viewed_nodes && others <= limits::viewed_workers) return {};
  return fmt::format(
      "--status shows up to {} nodes and {} ranks of other nodes, and this job may have {} and {}: "
      "the rest is shown by their own agents",
      limits::viewed_nodes, limits::viewed_workers, nodes, others);
}

inline void plan_status(program_plan& plan, const launch_config& config) {
  agent_services& services = plan.services;
  status_server_options& server = plan.server;
  server.address = parse_status_address(plan.options.status);
  if (!plan.options.status_token_file.empty()) {
    server.token = read_status_token(plan.options.status_token_file);
  }
  add_monitor(services, config.rendezvous);
  if (!services.tails) services.tails = std::make_shared<output_tails>();
  server.journal = services.journal;
  server.monitor = services.monitor;
  server.tails = services.tails;
  server.time = services.time;
  server.log = services.log;
  const std::string left_out = left_out_of_page(config);
  if (!left_out.empty()) services.log.warning("{}", left_out);
}

inline std::shared_ptr<const program_plan> plan_program(const launch_config& config,
                                                        const program_options& options,
                                                        const agent_services& services) {
  validate(config.signals);
  if (options.status.empty() && !options.status_token_file.empty()) {
    throw error(errc::invalid_argument,
                "program_options::status_token_file takes program_options::status");
  }
  const auto plan = std::make_shared<program_plan>();
  plan->signals = config.signals;
  plan->options = options;
  plan->services = services;
  if (!options.trace.empty()) add_journal(plan->services, config.rendezvous);
  if (!options.status.empty()) plan_status(*plan, config);
  return plan;
}

/// Stops the agent when the drain file appears; ends by cancellation only.
inline task<void> stop_at_drain_file(std::string path, std::shared_ptr<local_agent> agent,
                                     std::shared_ptr<time_source> time, logger log) {
  if (!time) time = std::make_shared<system_time>();
  stop_request request;
  request.reason = co_await wait_for_drain_file(path, time, log);
  request.is_node_bad = true;
  agent->stop(std::move(request));
  co_await time->sleep_until(time_point::max());
}

inline std::shared_ptr<status_server> serve_status(const asio::any_io_executor& executor,
                                                   const program_plan& plan,
                                                   const std::shared_ptr<local_agent>& agent) {
  if (plan.options.status.empty()) return nullptr;
  status_server_options options = plan.server;
  options.commands = [agent](job_command command) { return agent->carry_out(std::move(command)); };
  auto server = std::make_shared<status_server>(executor, std::move(options));
  if (plan.options.on_status) {
    plan.options.on_status(server->url());
  } else {
    std::fputs(fmt::format("Status: {}\n", server->url()).c_str(), stderr);
  }
  return server;
}

inline std::shared_ptr<trace_file> begin_trace(const program_plan& plan) {
  if (plan.options.trace.empty()) return nullptr;
  auto trace = std::make_shared<trace_file>(plan.options.trace, plan.services.log);
  plan.services.journal->add(trace);
  return trace;
}

inline task<void> end_views(std::shared_ptr<status_server> server,
                            std::shared_ptr<trace_file> trace,
                            std::shared_ptr<job_journal> journal) {
  if (server) co_await server->stop();
  if (!trace) co_return;
  journal->remove(trace);
  co_await trace->finish();
}

inline task<run_result> run_planned(std::shared_ptr<const program_plan> plan,
                                    std::shared_ptr<local_agent> agent,
                                    std::vector<task<void>> beside) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const agent_services& services = plan->services;
  const std::string& drain_file = plan->options.drain_file;
  const std::shared_ptr<status_server> server = serve_status(executor, *plan, agent);
  const std::shared_ptr<trace_file> trace = begin_trace(*plan);
  if (!drain_file.empty()) {
    beside.push_back(stop_at_drain_file(drain_file, agent, services.time, services.log));
  }
  task<run_result> running = run_watched(*agent, plan->signals, std::move(beside));
  task<void> ending = end_views(server, trace, services.journal);
  co_return co_await with_cleanup(std::move(running), std::move(ending));
}

}  // namespace detail

ELASTIC_DECL program_run::program_run(named<launch_config> config, named<program_options> options,
                                      named<agent_services> services)
    : plan_(detail::plan_program(*config, *options, *services)) {}

ELASTIC_DECL const agent_services& program_run::services() const { return plan_->services; }

ELASTIC_DECL task<run_result> program_run::run(std::shared_ptr<local_agent> agent,
                                               std::vector<task<void>> beside) const {
  return detail::run_planned(plan_, std::move(agent), std::move(beside));
}

ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options) {
  const agent_services services;
  return run_as_program(config, options, services);
}

ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options,
                                             named<agent_services> services,
                                             const rendezvous_registry& backends) {
  const program_run program(config, options, services);
  return program.run(make_agent(config, program.services(), backends));
}

}  // namespace elastic

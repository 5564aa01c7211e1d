// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/random.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/telemetry/event_handler_registry.hpp>

#include <memory>
#include <string>
#include <utility>

namespace elastic {

namespace detail {

inline rendezvous_parameters rendezvous_of(const launch_config& config, const logger& log) {
  rendezvous_parameters parameters;
  parameters.backend = config.standalone ? "c10d" : config.rdzv_backend;
  parameters.run_id = config.run_id;
  if (config.standalone) {
    parameters.endpoint = "localhost:0";
    if (config.run_id.empty()) {
      random_source random;
      parameters.run_id = random_uuid(random);
    }
  } else if (config.rdzv_backend == "static" && config.rdzv_endpoint.empty()) {
    endpoint master;
    master.host = config.master_addr;
    master.port = config.master_port;
    parameters.endpoint = to_text(master);
  } else {
    parameters.endpoint = config.rdzv_endpoint;
  }
  parameters.min_nodes = config.min_nodes;
  parameters.max_nodes = config.max_nodes;
  parameters.node_rank = config.node_rank;
  parameters.local_address = config.standalone ? "" : config.local_addr;
  parameters.share_worker_store =
      find_variable(config.environment, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
  parameters.use_ring = config.use_ring;
  for (const auto& [name, value] : config.rdzv_conf) parameters.configuration[name] = value;
  parameters.log = log;
  return parameters;
}

inline worker_spec workers_of(const launch_config& config) {
  worker_spec spec;
  spec.role = config.role;
  spec.local_world_size = config.nproc_per_node;
  spec.program = config.program;
  spec.arguments = config.arguments;
  spec.environment = config.environment;
  spec.max_restarts = config.max_restarts;
  spec.restart = config.restart;
  spec.shutdown_timeout = config.shutdown_timeout;
  spec.monitor_interval = config.monitor_interval;
  spec.log_directory = config.log_dir;
  spec.redirects = config.redirects;
  spec.tee = config.tee;
  spec.line_prefix_template = config.log_line_prefix_template;
  spec.logs = config.logs;
  return spec;
}

}  // namespace detail

/// Makes the agent that a configuration describes, for callers that want to `stop` it.
///
/// `services` may be left empty; its guard, the guard's file, its event handler and its logs_specs,
/// where it names none, are those of the configuration. `backends` are the rendezvous backends to
/// choose from.
/// Errors: `errc::invalid_argument` where a value is out of bounds or a name unknown.
inline std::unique_ptr<local_agent> make_agent(const launch_config& config,
                                               agent_services services = {},
                                               const rendezvous_registry& backends = {}) {
  agent_options options;
  options.workers = detail::workers_of(config);
  worker_spec& workers = options.workers;
  options.notice =
      limit_omp_threads(workers.environment, workers.local_world_size).value_or(std::string());
  options.rendezvous = backends.make(detail::rendezvous_of(config, services.log));
  if (!services.events) {
    services.events = event_handler_registry().make(config.event_log_handler);
  }
  if (!services.logs) services.logs = logs_specs_registry().make(config.logs_specs);
  if (!services.guard) services.guard = config.guard;
  if (services.guard_file.empty()) services.guard_file = config.guard_file;
  options.services = std::move(services);
  return std::make_unique<local_agent>(std::move(options));
}

namespace detail {

inline task<run_result> run_agent(std::unique_ptr<local_agent> agent) {
  co_return co_await agent->run();
}

}  // namespace detail

/// Runs the workers that a configuration describes, on this node, to their end.
///
/// Result, errors and cancellation: those of `local_agent::run`; errors of `make_agent` are
/// thrown by this call, before anything is awaited.
inline task<run_result> launch(const launch_config& config, const agent_services& services) {
  return detail::run_agent(make_agent(config, services));
}
inline task<run_result> launch(const launch_config& config) {
  return detail::run_agent(make_agent(config));
}

// Not with temporaries: g++ 12 destroys those of an expression with co_await twice. Name them.
task<run_result> launch(launch_config&& config, const agent_services& services) = delete;
task<run_result> launch(const launch_config& config, agent_services&& services) = delete;
task<run_result> launch(launch_config&& config, agent_services&& services) = delete;
task<run_result> launch(launch_config&& config) = delete;

}  // namespace elastic

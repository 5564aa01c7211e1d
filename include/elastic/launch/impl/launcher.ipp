// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/launcher.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/random.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/gpu_nodes.hpp>
#include <elastic/launch/numa_binding.hpp>
#include <elastic/launch/processor_topology.hpp>
#include <elastic/launch/start_method.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/fork_launcher.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/telemetry/event_handler_registry.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

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

/// Where the workers run, by local rank; empty: wherever this program may.
inline std::vector<processor_set> processors_of(const launch_config& config) {
  if (!config.cpu_affinity.empty() || config.binding == numa_binding::none) {
    return config.cpu_affinity;
  }
  const processor_topology topology = read_processor_topology();
  const processor_set allowed = processor_set::allowed_here();
  const auto count = static_cast<std::size_t>(config.nproc_per_node);
  const std::vector<int> nodes =
      nodes_of_workers(topology, allowed, count, gpu_nodes(config.environment));
  return place_workers(config.binding, topology, allowed, nodes);
}

inline worker_spec workers_of(const launch_config& config) {
  worker_spec spec;
  spec.role = config.role;
  spec.local_world_size = config.nproc_per_node;
  spec.program = config.program;
  spec.arguments = config.arguments;
  spec.function = config.function;
  spec.environment = config.environment;
  spec.variables = config.worker_variables;
  spec.virtual_local_rank = config.virtual_local_rank;
  spec.processors = processors_of(config);
  spec.max_restarts = config.max_restarts;
  spec.restart = config.restart;
  spec.shutdown_timeout = config.shutdown_timeout;
  spec.preempt_grace = config.preempt_grace;
  spec.liveness.heartbeat = config.heartbeat_timeout;
  spec.liveness.first_heartbeat = config.first_heartbeat_timeout;
  spec.liveness.learn_factor = config.learn_timeouts;
  spec.on_hang.command = config.hang_hook;
  spec.on_hang.timeout = config.hang_hook_timeout;
  spec.monitor_interval = config.monitor_interval;
  spec.log_directory = config.log_dir;
  spec.redirects = config.redirects;
  spec.tee = config.tee;
  spec.line_prefix_template = config.log_line_prefix_template;
  spec.logs = config.logs;
  return spec;
}

inline std::string own_program() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) return path.string();
  throw error(errc::program_not_found,
              fmt::format("this program cannot be found by /proc/self/exe ({}): name it by "
                          "launch_config::program",
                          failure.message()));
}

/// Completes what runs a function of this program, and finds out before a process is started what
/// would keep it from running.
inline void prepare_function(const launch_config& config, worker_spec& workers,
                             agent_services& services) {
  const auto refuse = [](const std::string& sentence) {
    throw error(errc::invalid_argument, sentence);
  };
  const bool is_forked = config.start == start_method::fork;
  if (!config.function) {
    if (is_forked) refuse("start_method::fork runs a function: launch_config::function is empty");
    return;
  }
  validate(*config.function);
  if (is_forked && !config.program.empty()) {
    refuse(
        fmt::format("start_method::fork runs a function of this program: '{}' cannot be named "
                    "as another one",
                    config.program));
  }
  if (!config.program.empty()) return;
  const auto function = function_table::here().find(config.function->name);
  function->check(config.function->arguments);
  workers.program = own_program();
  if (!is_forked) {
    if (function_table::here().main_asks()) return;
    refuse(
        "the workers are this program again, whose main must begin with 'if (const auto code = "
        "elastic::run_entrypoint()) return *code;'");
  }
  if (services.guard.value_or(config.guard) == guard_policy::required) {
    refuse(
        "guard_policy::required cannot be had with start_method::fork: forked workers have no "
        "guard");
  }
  if (services.launcher) {
    refuse("start_method::fork is a launcher by itself: agent_services::launcher must be empty");
  }
  auto body = [] { return run_entrypoint().value_or(1); };
  services.launcher = std::make_shared<fork_launcher>(body, services.log);
}

}  // namespace detail

ELASTIC_DECL std::unique_ptr<local_agent> make_agent(const launch_config& config,
                                                     agent_services services,
                                                     const rendezvous_registry& backends) {
  agent_options options;
  options.workers = detail::workers_of(config);
  worker_spec& workers = options.workers;
  detail::prepare_function(config, workers, services);
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

ELASTIC_DECL task<run_result> run_agent(std::unique_ptr<local_agent> agent) {
  co_return co_await agent->run();
}

}  // namespace detail

ELASTIC_DECL task<run_result> launch(const launch_config& config, const agent_services& services) {
  return detail::run_agent(make_agent(config, services));
}

ELASTIC_DECL task<run_result> launch(const launch_config& config) {
  return detail::run_agent(make_agent(config));
}

}  // namespace elastic

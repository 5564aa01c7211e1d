// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/launcher.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/launch/detail/function_preparer.hpp>
#include <elastic/launch/detail/gpu_nodes.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/detail/numa_placement.hpp>
#include <elastic/launch/detail/processor_topology.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/telemetry/event_handler_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// What the rendezvous is made from: of a node by itself, a store on a free port of this machine.
inline rendezvous_parameters rendezvous_of(const launch_config& config, const logger& log) {
  rendezvous_parameters parameters = config.rendezvous;
  if (config.standalone) {
    parameters = {};
    static_cast<rendezvous_settings&>(parameters) = config.rendezvous;
    parameters.min_nodes = parameters.max_nodes = 1;
    parameters.node_counts.clear();
    parameters.scale_up_delay = duration::zero();
    parameters.backend = "c10d";
    parameters.endpoint = "localhost:0";
    parameters.conf = config.rendezvous.conf;
    parameters.use_ring = config.rendezvous.use_ring;
    parameters.run_id = config.rendezvous.run_id;
    if (parameters.run_id.empty()) parameters.run_id = random_uuid();
  } else if (parameters.backend == "static" && parameters.endpoint.empty()) {
    endpoint master;
    master.host = config.master_addr;
    master.port = config.master_port;
    parameters.endpoint = to_text(master);
  }
  const auto secret_file = find_variable(config.workers.environment, "ELASTIC_JOB_SECRET_FILE");
  if (secret_file && !secret_file->empty() && !parameters.secret) {
    parameters.conf.emplace("secret_file", *secret_file);
  }
  const auto is_unshared =
      find_variable(config.workers.environment, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  if (is_unshared == "1") parameters.share_worker_store = false;
  parameters.log = log;
  return parameters;
}

/// "2 to 4 nodes meet at host0:29400 (backend c10d, run id 'job1')"; empty for one node.
inline std::string meeting_of(const rendezvous_parameters& parameters) {
  if (parameters.max_nodes == 1) return {};
  const std::string least = parameters.min_nodes == parameters.max_nodes
                                ? std::string()
                                : fmt::format("{} to ", parameters.min_nodes);
  return fmt::format("{}{} nodes meet at {} (backend {}, run id '{}')", least, parameters.max_nodes,
                     parameters.endpoint.empty() ? "the default endpoint" : parameters.endpoint,
                     parameters.backend, parameters.run_id);
}

/// The processors of each worker by the NUMA nodes of this machine.
inline std::vector<processor_set> bind_to_nodes(const launch_config& config) {
  const processor_topology topology = read_processor_topology();
  const processor_set allowed = processor_set::allowed_here();
  const auto count = static_cast<std::size_t>(config.workers.nproc_per_node);
  const std::vector<int> nodes =
      nodes_of_workers(topology, allowed, count, gpu_nodes(config.workers.environment));
  return place_workers(config.numa_binding, topology, allowed, nodes);
}

/// A worker of which no processor may be used would fail as it starts.
inline void check_affinity(const std::vector<processor_set>& lists) {
  const processor_set allowed = processor_set::allowed_here();
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    const processor_set& list = lists[rank];
    const bool has_any =
        std::any_of(list.begin(), list.end(), [&](int number) { return allowed.contains(number); });
    if (has_any || list.empty()) continue;
    throw error(errc::invalid_argument,
                fmt::format("--cpu-affinity '{}' for local rank {}: this program may use the "
                            "processors {}",
                            list.text(), rank, allowed.text()));
  }
}

/// Completes what runs a function of this program, and finds out before a process is started what
/// would keep it from running.
inline void prepare_function(const launch_config& config, worker_spec& workers,
                             agent_services& services) {
  const bool is_forked = config.start == launch_config::start_method::fork;
  if (!config.workers.function && is_forked) {
    throw error(errc::invalid_argument,
                "start_method::fork runs a function: launch_config::workers.function is empty");
  }
  if (!config.workers.function) return;
  validate(*config.workers.function);
  if (!config.workers.program.empty() && is_forked) {
    throw error(errc::invalid_argument,
                fmt::format("start_method::fork runs a function of this program: '{}' cannot be "
                            "named as another one",
                            config.workers.program));
  }
  if (!config.workers.program.empty()) return;
  if (const function_preparer prepare = prepare_own_function) {
    return prepare(config, workers, services);
  }
  throw error(errc::invalid_argument,
              fmt::format("the function '{}' of this program needs the module functions: include "
                          "<elastic/functions.hpp> (in the single header: define "
                          "ELASTIC_WITH_FUNCTIONS)",
                          config.workers.function->name));
}

inline std::string names_of(const std::vector<int>& signals) {
  std::string names;
  for (const int number : signals) {
    names += (names.empty() ? "" : ",") + signal_name(number);
  }
  return names;
}

}  // namespace detail

namespace detail {

inline std::unique_ptr<local_agent> make_agent(const launch_config& config, agent_services services,
                                               const rendezvous_registry& backends) {
  local_agent::options options;
  options.workers = config.workers;
  worker_spec& workers = options.workers;
  if (workers.cpu_affinity.empty() &&
      config.numa_binding != launch_config::processor_binding::none) {
    workers.cpu_affinity = detail::bind_to_nodes(config);
  }
  detail::check_affinity(workers.cpu_affinity);
  detail::prepare_function(config, workers, services);
  // PyTorch's own handlers in the workers look here, too.
  workers.environment["TORCHELASTIC_SIGNALS_TO_HANDLE"] = detail::names_of(config.signals.stop);
  workers.ignored_signals.insert(workers.ignored_signals.end(), config.signals.preempt.begin(),
                                 config.signals.preempt.end());
  options.notice =
      limit_omp_threads(workers.environment, workers.nproc_per_node).value_or(std::string());
  rendezvous_parameters parameters = detail::rendezvous_of(config, services.log);
  detail::add_journal(services, config.rendezvous);
  if (services.reports && parameters.max_nodes > 1) parameters.reports = services.reports;
  if (services.meter) parameters.meter = services.meter;
  options.meeting = detail::meeting_of(parameters);
  options.job_may_grow = parameters.min_nodes < parameters.max_nodes;
  options.rendezvous = backends.make(parameters);
  if (!services.events) {
    services.events = event_handler_registry().make(config.event_log_handler);
  }
  if (!services.logs) services.logs = logs_specs_registry().make(config.logs_specs);
  if (!services.guard) services.guard = config.guard;
  if (services.guard_file.empty()) services.guard_file = config.guard_file;
  options.services = std::move(services);
  return std::make_unique<local_agent>(std::move(options));
}

ELASTIC_DECL task<run_result> run_agent(std::unique_ptr<local_agent> agent) {
  co_return co_await agent->run();
}

}  // namespace detail

ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config) {
  return detail::make_agent(*config, agent_services(), rendezvous_registry());
}

ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config,
                                                     named<agent_services> services,
                                                     const rendezvous_registry& backends) {
  return detail::make_agent(*config, *services, backends);
}

ELASTIC_DECL task<run_result> launch(named<launch_config> config) {
  return detail::run_agent(make_agent(config));
}

ELASTIC_DECL task<run_result> launch(named<launch_config> config, named<agent_services> services) {
  return detail::run_agent(make_agent(config, services));
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/worker_preparation.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/launch/detail/function_preparer.hpp>
#include <elastic/launch/detail/gpu_nodes.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/detail/numa_placement.hpp>
#include <elastic/launch/detail/processor_topology.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/telemetry/detail/event_handler_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// Assigns processors to each worker by the NUMA nodes of this machine.
inline std::vector<processor_set> bind_to_nodes(const launch_config& config) {
  const processor_topology topology = read_processor_topology();
  const processor_set allowed = processor_set::allowed_here();
  const auto count = static_cast<std::size_t>(config.workers.nproc_per_node);
  const std::vector<int> nodes =
      nodes_of_workers(topology, allowed, count, gpu_nodes(config.workers.environment));
  return place_workers(config.numa_binding, topology, allowed, nodes);
}

/// Throws if this process may use none of a worker's processors: the worker could not start.
inline void check_affinity(const worker_spec& workers) {
  const std::vector<processor_set>& lists = workers.cpu_affinity;
  const processor_set allowed = processor_set::allowed_here();
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    const processor_set& list = lists[rank];
    const bool has_any =
        std::any_of(list.begin(), list.end(), [&](int number) { return allowed.contains(number); });
    if (has_any || list.empty()) continue;
    throw error(errc::invalid_argument,
                fmt::format("{} '{}' for local rank {}: this program may use the processors {}",
                            workers.name_of("cpu_affinity"), list.text(), rank, allowed.text()));
  }
}

/// Completes the configuration of workers that run a function of this program. Throws, before any
/// process starts, if they could not run it.
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

ELASTIC_DECL prepared_workers prepare_workers(const launch_config& config,
                                              agent_services services) {
  prepared_workers prepared;
  worker_spec& workers = prepared.workers;
  workers = config.workers;
  if (workers.cpu_affinity.empty() &&
      config.numa_binding != launch_config::processor_binding::none) {
    workers.cpu_affinity = bind_to_nodes(config);
  }
  check_affinity(workers);
  prepare_function(config, workers, services);
  workers.ignored_signals.insert(workers.ignored_signals.end(), config.signals.preempt.begin(),
                                 config.signals.preempt.end());
  if (workers.contract == worker_contract::torch) {
    // PyTorch's own signal handlers in the workers read this variable, too.
    workers.environment["TORCHELASTIC_SIGNALS_TO_HANDLE"] = names_of(config.signals.stop);
    prepared.notice =
        limit_omp_threads(workers.environment, workers.nproc_per_node).value_or(std::string());
  }
  add_journal(services, config.rendezvous);
  if (!services.events) {
    services.events = event_handler_registry().make(config.event_log_handler);
  }
  if (!services.logs) services.logs = logs_specs_registry().make(config.logs_specs);
  agent_services::process_options& processes = services.processes;
  if (!processes.guard) processes.guard = config.guard;
  if (processes.guard_file.empty()) processes.guard_file = config.guard_file;
  prepared.services = std::move(services);
  return prepared;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_spec.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <cstdint>
#include <string>

namespace elastic {

/// A job as one node sees it, with the defaults of `elasticrun`.
///
/// Only `workers.program` has no default that works, unless `workers` names a function. `launch`
/// refuses values out of bounds with `errc::invalid_argument` before it starts anything.
struct launch_config {
  /// How the workers that run a function come to be.
  enum class start_method {
    /// A new process of the same program, whose main finds the function by its name. Always safe.
    spawn,
    /// A copy of this process, as it is at each start, in which the function runs at once. Only if
    /// this process has one thread; see `fork_launcher` for what the function may use there. It has
    /// no guard.
    fork,
  };

  /// On which processors the workers of a machine run. torchrun's names.
  enum class processor_binding {
    /// Wherever this program may run.
    none,
    /// All processors of the worker's NUMA node.
    node,
    /// All processors of the socket that has the worker's NUMA node.
    socket,
    /// Cores of the worker's NUMA node that are its own: the node's are dealt out evenly.
    exclusive,
    /// One group of cores with a common cache of the last level; another one for each worker of the
    /// node while there are any.
    core_complex,
  };

  /// What every worker is, how many this node runs, how often they are started again, and where
  /// their output goes. If it names a function and no program, the program is this one, whose main
  /// must begin with `run_entrypoint`.
  worker_spec workers;
  /// How the nodes of the job meet. `log` is set by `make_agent`.
  rendezvous_parameters rendezvous;

  /// One node by itself: of `rendezvous` only `run_id` and `use_ring` count, and an empty run id
  /// means a random one. Any number of such jobs run side by side on one machine.
  bool standalone = false;
  /// The endpoint of the backend "static", if `rendezvous` names none: where the node of rank 0
  /// serves.
  std::string master_addr = "127.0.0.1";
  std::uint16_t master_port = 29500;

  /// How the workers of a function come to be; `fork` has its conditions.
  start_method start = start_method::spawn;
  /// Binds workers to processors by the machine's NUMA nodes and the GPUs there, if
  /// `workers.cpu_affinity` is empty.
  processor_binding numa_binding = processor_binding::none;
  /// Whether a guard ends what a worker leaves behind, also if this process is killed.
  guard_policy guard = guard_policy::best_effort;
  /// The guard's program, such as the installed elastic-guard; empty: what the library carries.
  std::string guard_file;
  /// Who decides where output goes: "default" or another name of the logs_specs_registry.
  std::string logs_specs = "default";
  /// Where events go: "null", "console" or another name of the event handler registry.
  std::string event_log_handler = "null";

  /// The signals that stop the job or reach its workers if a program runs the agent, see
  /// `run_with_signals`. The workers ignore those of `preempt` from their start, and PyTorch's own
  /// handlers in them follow `stop`.
  signal_plan signals;
};

}  // namespace elastic

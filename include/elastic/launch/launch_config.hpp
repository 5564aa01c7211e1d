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
/// Only `workers.program` must be set, unless `workers` names a function. `launch` refuses values
/// out of bounds with `errc::invalid_argument` before it starts anything.
struct launch_config {
  /// How the workers that run a function are created.
  enum class start_method {
    /// A new process of the same program, whose main finds the function by its name. Always safe.
    spawn,
    /// A copy of this process, made at each start, which runs the function directly. Only possible
    /// if this process has one thread; see `fork_launcher` for what the function may use. It has no
    /// guard.
    fork,
  };

  /// The choice of processors for the workers of a machine. The names are torchrun's.
  enum class processor_binding {
    /// All processors on which this program may run.
    none,
    /// All processors of the worker's NUMA node.
    node,
    /// All processors of the socket that has the worker's NUMA node.
    socket,
    /// Cores of the worker's NUMA node that no other worker uses; the node's cores are divided
    /// evenly.
    exclusive,
    /// One group of cores that share a last-level cache; a different group for each worker of the
    /// node as long as there are enough.
    core_complex,
  };

  /// What the workers run, how many this node runs, how often they are restarted, and where their
  /// output goes. If it names a function and no program, the program is this one, whose main must
  /// begin with `run_entrypoint`.
  worker_spec workers = {};
  /// The rendezvous of the job's nodes. `make_agent` sets `log`.
  rendezvous_parameters rendezvous = {};

  /// A job of one node: of `rendezvous`, only `run_id` and `use_ring` are used, and an empty run id
  /// means a random one. Any number of such jobs can run side by side on one machine.
  bool standalone = false;
  /// The endpoint of the backend "static", if `rendezvous` names none: where the node of rank 0
  /// serves.
  std::string master_addr = "127.0.0.1";
  std::uint16_t master_port = 29500;

  /// How the workers of a function are created.
  start_method start = start_method::spawn;
  /// Binds workers to processors by the machine's NUMA nodes and the GPUs there, if
  /// `workers.cpu_affinity` is empty.
  processor_binding numa_binding = processor_binding::none;
  /// Whether a guard kills what a worker leaves behind, even if this process is killed.
  guard_policy guard = guard_policy::best_effort;
  /// The guard's program, such as the installed elastic-guard; empty: the built-in one.
  std::string guard_file = {};
  /// The object that decides where output goes: "default" or another name in the
  /// logs_specs_registry.
  std::string logs_specs = "default";
  /// The handler of events: "null", "console" or another name in the event handler registry.
  std::string event_log_handler = "null";

  /// The signals that stop the job or are passed on to its workers if a program runs the agent; see
  /// `run_with_signals`. The workers ignore the signals in `preempt` from their start. PyTorch's
  /// own handlers in the workers follow `stop`.
  signal_plan signals = {};
};

}  // namespace elastic

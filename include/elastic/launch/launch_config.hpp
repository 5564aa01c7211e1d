// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_options.hpp>
#include <elastic/agent/restart_terms.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/launch/numa_binding.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/launch/start_method.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/processor_set.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// Everything that `elasticrun` can be told, with its defaults: a job as one node sees it.
///
/// Only `program` has no default that works, unless a `function` is named. Values out of bounds are
/// refused by `launch` with `errc::invalid_argument` before anything is started.
struct launch_config {
  // What to run.

  /// The program of every worker: a path, or a name that is looked up in the PATH of
  /// `environment`. For a Python script this is the interpreter.
  std::string program;
  /// A function that every worker runs, such as `entrypoint::call` makes it. `program` is then the
  /// one that has the function, empty: this one. Its main must begin with `run_entrypoint`.
  std::optional<function_call> function = {};
  /// How the workers of a function come to be; `fork` has its conditions.
  start_method start = start_method::spawn;
  /// The program's arguments; `${local_rank}` in any of them becomes the worker's local rank.
  std::vector<std::string> arguments;
  /// What the report of a failure calls the job; empty: `program`, or the function.
  std::string name;
  /// The script among the arguments, which must exist before anything is started; empty where
  /// there is none to look for (a program of its own, a Python module).
  std::string script;
  /// What the workers inherit; each gets its own additions. Nothing of the process's environment
  /// is added to it.
  environment_map environment;

  // How many.

  /// The job runs with `min_nodes` … `max_nodes` nodes; 1 ≤ min_nodes ≤ max_nodes ≤
  /// `limits::nodes`.
  int min_nodes = 1;
  int max_nodes = 1;
  /// Workers of this node, 1 … `limits::local_world_size`.
  int nproc_per_node = 1;
  /// The role of the workers, part of their log lines and metrics.
  std::string role = "default";

  /// Variables of the workers alone, on top of `environment`; `${local_rank}`, `${rank}` and
  /// `${role_name}` in the values become the worker's.
  std::vector<std::pair<std::string, std::string>> worker_variables;
  /// Each worker sees one GPU, with LOCAL_RANK 0 (see worker_spec::virtual_local_rank).
  bool virtual_local_rank = false;
  /// On which processors workers run: by the machine's NUMA nodes and the GPUs there, or …
  numa_binding binding = numa_binding::none;
  /// … by local rank; empty: as `binding` says.
  std::vector<processor_set> cpu_affinity;

  // How nodes meet.

  /// One node by itself: the fields of this group are not looked at, but for `run_id`. Any number
  /// of such jobs run side by side on one machine.
  bool standalone = false;
  /// Names the job; nodes with the same run id meet. Empty: a random one, for `standalone` only.
  std::string run_id = "none";
  /// "static", "c10d" or another name of the rendezvous registry.
  std::string rdzv_backend = "static";
  /// "host:port" of the rendezvous; empty: the backend's default (static: `master_addr` and
  /// `master_port`).
  std::string rdzv_endpoint;
  /// Further settings of the backend, in order; the last of a repeated name counts.
  std::vector<std::pair<std::string, std::string>> rdzv_conf;
  /// Backend "static" only: this node's rank, 0 … max_nodes - 1.
  int node_rank = 0;
  /// Backend "static" without an endpoint: where the node of rank 0 serves.
  std::string master_addr = "127.0.0.1";
  std::uint16_t master_port = 29500;
  /// The address that this node tells workers and other nodes, where ranks are not given (not
  /// "static"); empty: found out by itself.
  std::string local_addr;

  // How often again and for how long.

  /// How often the workers are started anew after a failure; 0: never.
  int max_restarts = 0;
  /// How soon, for which failures, and how many of them within what time.
  restart_terms restart;
  /// How long workers may take to end after the stop signal before they are killed; 0: at once.
  std::chrono::milliseconds shutdown_timeout{30'000};
  /// What a program that runs the job by `run_with_signals` does on the signals that it gets; an
  /// embedded agent handles none.
  signal_plan signals;
  /// How long workers may take to save a checkpoint on SIGTERM before they are stopped; 0: they are
  /// not asked.
  std::chrono::milliseconds preempt_grace{0};
  /// After how long without a heartbeat over the control channel a worker is hung: between two, and
  /// from its start to the first; 0: never.
  std::chrono::milliseconds heartbeat_timeout{0};
  std::chrono::milliseconds first_heartbeat_timeout{0};
  /// Where nobody named a time-out: the longest seen times this, 1 or more; 0: nothing is learned.
  double learn_timeouts = 0;
  /// A command that looks into a hung worker before any is ended because of it, and how long it may
  /// take; empty: none (see hang_hook).
  std::string hang_hook;
  std::chrono::milliseconds hang_hook_timeout{10'000};
  /// Whether a guard ends what a worker leaves behind, also where this process is killed.
  guard_policy guard = guard_policy::best_effort;
  /// The guard's program, such as the installed elastic-guard; empty: what the library carries.
  std::string guard_file;
  /// The period of the state metrics, for the metric handler that an embedder may give; over 0.
  /// Nothing else is paced by it: workers are not polled.
  std::chrono::milliseconds monitor_interval{5'000};

  // What is written where.

  /// The directory under which each run makes one of its own. Empty: one in the temporary folder;
  /// "/dev/null": no files at all, what is only redirected is discarded.
  std::string log_dir;
  /// Streams that go into files instead of this process's own.
  stream_selection redirects;
  /// Streams that go into files and, line by line with a prefix, to this process's own.
  stream_selection tee;
  /// The prefix of teed lines, see `line_template` for its fields; empty:
  /// "[<role><local_rank>]:".
  std::string log_line_prefix_template;
  /// What is shown of the output and how, and what is kept of it.
  log_options logs;
  /// Who decides where output goes: "default" or another name of the logs_specs_registry.
  std::string logs_specs = "default";
  /// Whether bytes move through an io_uring where the kernel allows one; else by Asio's reactor.
  bool use_ring = true;
  /// Whether a program that can shows how far the job is (see progress_bar).
  bool progress = true;
  /// Where events go: "null", "console" or another name of the event handler registry.
  std::string event_log_handler = "null";
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/hang_hook.hpp>
#include <elastic/agent/line_template.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/agent/restart_terms.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/contract/visible_devices.hpp>
#include <elastic/health/worker_liveness.hpp>
#include <elastic/process/processor_set.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What an agent runs: which program, how many, how often again, and where its output goes.
struct worker_spec {
  /// The role of these workers: a name for ranks, logs, events and metrics.
  std::string role = "default";
  /// How many workers this node runs, 1 to `limits::local_world_size`.
  int local_world_size = 1;

  /// A path, or a name that is looked up in the PATH of `environment`.
  std::string program;
  /// The program's arguments; `${local_rank}` in them becomes the worker's.
  std::vector<std::string> arguments;
  /// What the workers' environment starts from, usually the launcher's (`environment_from`). What
  /// the agent promises its workers is set on top of it.
  environment_map environment;
  /// A function of the program to run: the program's main must begin with `run_entrypoint`. Each
  /// worker's standard input is then what carries the call. None: the program runs as it is.
  std::optional<function_call> function = {};
  /// Variables of the workers alone, set on top of `environment`; `${local_rank}`, `${rank}` and
  /// `${role_name}` in the values become the worker's.
  std::vector<std::pair<std::string, std::string>> variables;
  /// Each worker sees one GPU and takes itself for the only one of its node: LOCAL_RANK is 0, and
  /// CUDA_VISIBLE_DEVICES has one entry, that of its local rank.
  bool virtual_local_rank = false;
  /// The processors of each worker, by local rank; empty: the agent's.
  std::vector<processor_set> processors;
  /// The working directory; empty keeps the agent's.
  std::string directory;

  /// How often the group may be started again after a failure. 0: never.
  int max_restarts = 0;
  /// How soon, for which failures, and how many of them within what time.
  restart_terms restart;
  /// How long workers may take to end after the stop's signal before they are killed.
  duration shutdown_timeout = std::chrono::seconds(30);
  /// How long to wait at the end for the other agents.
  duration exit_barrier_timeout = std::chrono::seconds(300);
  /// How long workers may take to save a checkpoint when the agent is asked to stop by SIGTERM,
  /// before they are stopped. 0: they are not asked.
  duration preempt_grace = duration::zero();
  /// After how long a worker that says nothing over the control channel counts as hung, which is a
  /// failure. Default: never, but for time-outs that the worker itself names.
  liveness_settings liveness;
  /// What looks into a hung worker before any worker is ended because of it. Default: nothing.
  hang_hook on_hang = {};
  /// The period of the state metrics, where a metric handler is given. Nothing else uses it.
  duration monitor_interval = std::chrono::seconds(5);

  /// Where the log directory of the run is made. Empty: in the temporary folder, and removed after
  /// success. "/dev/null": no files at all.
  std::string log_directory;
  /// Which streams of which local rank are written to files by the worker itself.
  stream_selection redirects;
  /// Which streams go to both the file and the console.
  stream_selection tee;
  /// What is put before each line of a teed stream; see `line_template` for its fields. Empty:
  /// "[<role><local_rank>]:".
  std::string line_prefix_template;
  /// What is shown of the output and how, and what is kept of it.
  log_options logs;
};

/// Checks the bounds of a worker_spec. Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const worker_spec& spec) {
  const auto demand = [](bool holds, const std::string& sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(!spec.program.empty(), "the worker's program is not named");
  if (spec.function) validate(*spec.function);
  demand(spec.local_world_size >= 1 && spec.local_world_size <= limits::local_world_size,
         fmt::format("{} workers on one node: 1 to {} are allowed", spec.local_world_size,
                     limits::local_world_size));
  demand(spec.processors.empty() ||
             spec.processors.size() == static_cast<std::size_t>(spec.local_world_size),
         fmt::format("processors are given for {} workers, but the node has {}",
                     spec.processors.size(), spec.local_world_size));
  for (const auto& [name, value] : spec.variables) {
    demand(!name.empty() && name.find('=') == std::string::npos,
           fmt::format("'{}' is no name of a variable", name));
  }
  demand(!spec.virtual_local_rank ||
             visible_devices(spec.environment).size() >=
                 static_cast<std::size_t>(spec.local_world_size) ||
             visible_devices(spec.environment).empty(),
         fmt::format("CUDA_VISIBLE_DEVICES names fewer devices than the {} workers of the node, of "
                     "which each is to have its own",
                     spec.local_world_size));
  demand(spec.max_restarts >= 0,
         fmt::format("max_restarts is {}: 0 or more is allowed", spec.max_restarts));
  validate(spec.restart);
  validate(spec.logs, spec.local_world_size, spec.log_directory != "/dev/null");
  line_template{spec.line_prefix_template};
  demand(spec.shutdown_timeout >= duration::zero(), "shutdown_timeout must not be negative");
  demand(spec.exit_barrier_timeout >= duration::zero(),
         "exit_barrier_timeout must not be negative");
  demand(spec.monitor_interval > duration::zero(), "monitor_interval must be over 0");
  demand(spec.preempt_grace >= duration::zero(), "preempt_grace must not be negative");
  validate(spec.on_hang);
  const liveness_settings& liveness = spec.liveness;
  demand(liveness.first_heartbeat >= duration::zero() && liveness.heartbeat >= duration::zero() &&
             liveness.least_learned >= duration::zero(),
         "the times of liveness must not be negative");
  demand(liveness.learn_factor == 0 || liveness.learn_factor >= 1,
         fmt::format("learn_factor is {}: 0 (nothing is learned) or 1 and more are allowed",
                     liveness.learn_factor));
}

}  // namespace elastic

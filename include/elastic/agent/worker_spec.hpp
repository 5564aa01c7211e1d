// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/line_template.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/agent/restart_terms.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/stream_selection.hpp>

#include <chrono>
#include <string>
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
  demand(spec.local_world_size >= 1 && spec.local_world_size <= limits::local_world_size,
         fmt::format("{} workers on one node: 1 to {} are allowed", spec.local_world_size,
                     limits::local_world_size));
  demand(spec.max_restarts >= 0,
         fmt::format("max_restarts is {}: 0 or more is allowed", spec.max_restarts));
  validate(spec.restart);
  validate(spec.logs, spec.local_world_size, spec.log_directory != "/dev/null");
  line_template{spec.line_prefix_template};
  demand(spec.shutdown_timeout >= duration::zero(), "shutdown_timeout must not be negative");
  demand(spec.exit_barrier_timeout >= duration::zero(),
         "exit_barrier_timeout must not be negative");
  demand(spec.monitor_interval > duration::zero(), "monitor_interval must be over 0");
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_options.hpp>
#include <elastic/agent/restart_terms.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/health/liveness_settings.hpp>
#include <elastic/process/processor_set.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// What becomes of the other workers if one fails, or a node comes or goes.
enum class on_failure {
  /// All workers start again.
  restart,
  /// Workers that can rejoin (`worker_channel::survive`) keep their processes and their ranks; the
  /// others are replaced. If that is impossible, all start again.
  replace,
};

/// What an agent runs: which program, how many, how often again, and where its output goes.
struct worker_spec {
  /// The role of these workers: a name for ranks, logs, events and metrics.
  std::string role = "default";
  /// How many workers this node runs, 1 to `limits::local_world_size`.
  int nproc_per_node = 1;

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
  /// `${role_name}` in the values become the worker's. Variables that the agent sets
  /// (`is_set_by_agent`) are refused.
  std::vector<std::pair<std::string, std::string>> env;
  /// Each worker sees one GPU and takes itself for the only one of its node: LOCAL_RANK is 0, and
  /// CUDA_VISIBLE_DEVICES has one entry, that of its local rank.
  bool virtual_local_rank = false;
  /// The processors of each worker, by local rank; empty: the agent's.
  std::vector<processor_set> cpu_affinity;
  /// Signals that workers ignore until they handle them themselves.
  std::vector<int> ignored_signals;
  /// The working directory; empty keeps the agent's.
  std::string directory;

  /// How often the group may be started again after a failure. 0: never.
  int max_restarts = 0;
  /// How soon, for which failures, and how many of them within what time.
  restart_terms restart;
  /// What becomes of the others then.
  elastic::on_failure on_failure = elastic::on_failure::restart;
  /// How long a worker that can rejoin may take to leave its epoch, and how long one waits that
  /// asks whether its epoch has ended; over 0.
  duration rejoin_timeout = std::chrono::seconds(10);
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
  /// How often the agent looks at its workers, by what they report and in /proc, so as to say which
  /// of them hold up the others (`job_event::type::worker_suspected`); nothing is done about them.
  /// 0: never.
  duration watch_interval = duration::zero();
  /// Looks into workers that hang, before any worker is ended because of it: it may write down
  /// their stacks. It is run once for each of them, with these variables:
  ///
  ///     ELASTIC_HUNG_RANK        the worker's rank in the job
  ///     ELASTIC_HUNG_LOCAL_RANK  its rank on this node
  ///     ELASTIC_HUNG_PID         its process, which runs
  ///     ELASTIC_HUNG_REASON      why it counts as hung
  ///     ELASTIC_HUNG_LOG_DIR     the directory of its log files; empty if there is none
  ///
  /// What it writes goes to `hang.log` in that directory if the log directory was named, else to
  /// the agent's stderr. All commands of one stop share the time.
  shell_command hang_hook = {"", std::chrono::seconds(10)};
  /// Says whether this node is fit for the job; it may ask the driver of its GPUs. It is run before
  /// the node meets the others and before each restart, while no worker runs. Exit code 0: the node
  /// takes part. Anything else, no end in time included: it leaves the job, which goes on without
  /// it as without a node that a worker calls bad. The end of its output stands in the reason.
  shell_command node_check = {"", std::chrono::seconds(60)};
  /// The period of the state metrics, if a metric handler is given. Nothing else uses it.
  duration monitor_interval = std::chrono::seconds(5);

  /// Where the log directory of the run is made. Empty: in the temporary folder, and removed after
  /// success. "/dev/null": no files at all.
  std::string log_dir;
  /// The name of the run's directory there, for a program that runs several agents and keeps their
  /// files together. Empty: one that nobody else has, made from the run id.
  std::string log_name;
  /// The file of the journal. Empty: `journal.jsonl` in the run's log directory, if there is one.
  /// "/dev/null": none.
  std::string journal;
  /// Which streams of which local rank are written to files by the worker itself.
  stream_selection redirects;
  /// Which streams go to both the file and the console.
  stream_selection tee;
  /// What is put before each line of a teed stream; see `line_template` for its fields. Empty:
  /// "[<role><local_rank>]:".
  std::string log_line_prefix_template;
  /// What is shown of the output and how, and what is kept of it.
  log_options logs;
};

/// Checks the bounds of a worker_spec. Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const worker_spec& spec);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_spec.ipp>
#endif

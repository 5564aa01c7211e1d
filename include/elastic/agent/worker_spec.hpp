// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_options.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/control/liveness_settings.hpp>
#include <elastic/process/exit_selection.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/process/stop_plan.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// What happens to the other workers if one fails, or a node joins or leaves.
enum class failure_policy {
  /// All workers restart.
  restart,
  /// Workers that can rejoin (`worker_channel::survive`) keep their processes and their ranks; the
  /// others are replaced. If that is impossible, all restart.
  replace,
};

/// What the agent promises to its workers.
enum class worker_contract {
  /// What torchrun promises: the variables by which workers of PyTorch find each other, a store
  /// that the agent serves, the control channel, and its rule for OMP_NUM_THREADS.
  torch,
  /// Nothing but `worker_spec::environment` and `worker_spec::env`, which gives ranks and addresses
  /// to the workers by names of the program's choice. There is no store and no control channel.
  plain,
};

/// What an agent runs: which program, how many workers, how often they may be restarted, and where
/// their output goes.
struct worker_spec {
  /// When failed workers restart, as long as restarts are left. The defaults are torchrun's: at
  /// once, after any failure.
  struct restart_terms {
    /// Only failures within this time count against the restarts. 0: all failures of the job.
    duration window = duration::zero();

    /// How long to wait before the first restart; doubled before each further one, up to
    /// `delay_max`. 0: no wait.
    duration delay = duration::zero();
    duration delay_max = std::chrono::seconds(60);
    /// If the workers ran for at least this long, the wait after their failure is `delay` again.
    duration healthy_uptime = std::chrono::seconds(60);

    /// The number of failures in a row without a new step after which there is no restart; 0:
    /// progress does not matter. It does not matter either before a worker of this node has
    /// reported a step.
    int while_progress = 0;

    /// No restart after a worker that ended in one of these ways.
    exit_selection never_after = {};
    /// If not empty: restart only after a worker that ended in one of these ways.
    exit_selection only_after = {};
  };

  /// A command in front of the program of some workers, such as a profiler.
  struct wrapper {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    wrapper() = default;

    /// Words for `/bin/sh`, such as "nsys profile -o r${rank}", to which the program and its
    /// arguments are added; `${rank}` and the others as in `worker_spec::env`. Empty: no worker has
    /// a command.
    std::string command;
    /// The ranks of the job that it is for, as ranges with their first and last rank; empty: all
    /// ranks.
    std::vector<std::pair<int, int>> ranks;

    /// Whether it is for the worker of a rank.
    ELASTIC_DECL bool is_for(int rank) const;
  };

  /// The role of these workers: a name for ranks, logs, events and metrics, of up to
  /// `limits::worker_role_bytes` bytes, without control characters.
  std::string role = "default";
  /// How many workers this node runs, 1 to `limits::local_world_size`.
  int nproc_per_node = 1;
  /// Each worker has a slot of the launcher for itself: `process_spec::slot` is its local rank.
  bool has_slots = false;

  /// What the workers can rely on. `plain` refuses what needs the control channel: `on_failure`
  /// replace, `liveness` and `preempt_grace`.
  worker_contract contract = worker_contract::torch;

  /// The program: a path, or a name that is looked up in the PATH of `environment`.
  std::string program = {};
  /// The program's arguments; `${local_rank}` in them is replaced by the worker's.
  std::vector<std::string> arguments = {};
  /// A command in front of the program, for all workers or some.
  wrapper wrap = {};
  /// The base of the workers' environment, usually the launcher's own (`environment_from`). The
  /// agent adds the variables that it promises to its workers. A name is not empty and has no '='.
  environment_map environment = {};
  /// A function of the program to run: the program's main must begin with `run_entrypoint`. The
  /// standard input of each worker then carries the call. Empty: the program runs normally.
  std::optional<function_call> function = {};
  /// Additional variables for the workers, which override `environment`; `${local_rank}`,
  /// `${rank}`, `${local_world_size}`, `${world_size}`, `${node_rank}`, `${master_addr}`,
  /// `${master_port}` and `${role_name}` in the values are replaced by the worker's. Variables that
  /// the agent sets (`is_set_by_agent`) are refused, unless the contract is `plain`.
  std::vector<std::pair<std::string, std::string>> env = {};
  /// Each worker sees one GPU, as if it were the only worker of its node: LOCAL_RANK is 0, and
  /// CUDA_VISIBLE_DEVICES, and HIP_VISIBLE_DEVICES if it is set, has only the entry of its local
  /// rank.
  bool virtual_local_rank = false;
  /// The processors of each worker, by local rank; empty: the agent's.
  std::vector<processor_set> cpu_affinity = {};
  /// Signals that workers ignore until they handle them themselves.
  std::vector<int> ignored_signals = {};
  /// The working directory; empty keeps the agent's.
  std::string directory = {};

  /// How often the workers may be restarted after a failure. 0: never.
  int max_restarts = 0;
  /// When to restart: after which delay, after which failures, and how many within which time.
  restart_terms restart = {};
  /// What happens to the other workers when one fails.
  failure_policy on_failure = failure_policy::restart;
  /// How long a worker that can rejoin may take to leave its epoch once it has asked whether that
  /// has ended (`worker_channel::is_change`), and how long it may wait for the answer; more than 0.
  /// A worker that does not ask may still be computing, and has six times as long.
  duration rejoin_timeout = std::chrono::seconds(10);
  /// How long workers may take to end after the stop signal before they are killed.
  duration shutdown_timeout = std::chrono::seconds(30);
  /// How long the processes that a worker leaves behind may take to end by themselves, after it has
  /// ended without being killed by the agent, before they are killed; at most an hour. The next
  /// attempt waits for them. 0: only helpers that clean up get time.
  duration linger = duration::zero();
  /// The receivers of the stop signal: at first only each worker, and its descendants after half of
  /// `shutdown_timeout`; or all of them at once.
  elastic::signal_scope signal_scope = elastic::signal_scope::process;
  /// How long to wait at the end for the other agents.
  duration exit_barrier_timeout = std::chrono::seconds(300);
  /// How long workers may take to save a checkpoint, before they are stopped, when the agent is
  /// asked to stop with SIGTERM. 0: they are not asked.
  duration preempt_grace = duration::zero();
  /// When a worker that sends nothing over the control channel counts as hung, which counts as a
  /// failure. Default: never, except for time-outs that the worker itself sets.
  liveness_settings liveness = {};
  /// How often the agent samples its workers, from their reports and in /proc, to report which of
  /// them hold up the others (`job_event::type::worker_suspected`); it only reports them. 0: never.
  duration watch_interval = duration::zero();
  /// A command that inspects hung workers before any worker is killed because of it, for example to
  /// record their stacks. It runs once for each of them, with these variables:
  ///
  ///     ELASTIC_HUNG_RANK        the worker's rank in the job
  ///     ELASTIC_HUNG_LOCAL_RANK  its rank on this node
  ///     ELASTIC_HUNG_PID         its process, which runs
  ///     ELASTIC_HUNG_REASON      why it counts as hung
  ///     ELASTIC_HUNG_LOG_DIR     the directory of its log files; empty if there is none
  ///
  /// Its output goes to `hang.log` in that directory if `log_dir` is set, and otherwise to the
  /// agent's stderr. All commands of one stop share the time.
  shell_command hang_hook = {"", std::chrono::seconds(10)};
  /// A command that checks whether this node is healthy, for example by querying the GPU driver. It
  /// runs before the node meets the others and before each restart, while no worker runs. Exit code
  /// 0: the node takes part. Any other end, or none in time: the node leaves the job, which
  /// continues without it, as if a worker had called the node bad. The reason includes the end of
  /// its output.
  shell_command node_check = {"", std::chrono::seconds(60)};
  /// The period of the state metrics, if there is a metric handler. It has no other effect.
  duration monitor_interval = std::chrono::seconds(5);

  /// Where the log directory of the run is created. Empty: in the temporary folder, and removed
  /// after success. "/dev/null": no files at all.
  std::string log_dir = {};
  /// The name of the run's directory there, for a program that runs several agents and keeps their
  /// files together. Empty: a unique name derived from the run id.
  std::string log_name = {};
  /// The file of the journal. Empty: `journal.jsonl` in the run's log directory, if there is one.
  /// "/dev/null": none.
  std::string journal = {};
  /// Which streams of which local ranks the workers write to files themselves.
  stream_selection redirects = {};
  /// Which streams go to both the file and the console.
  stream_selection tee = {};
  /// The prefix of each line of a teed stream; see `line_template` for its fields. Empty:
  /// "[<role><local_rank>]:".
  std::string log_line_prefix_template = {};
  /// Which output is shown, how it is shown, and what is kept.
  log_options logs = {};

  /// How messages name a field of this struct, see `rendezvous_parameters::naming`. Empty:
  /// "worker_spec::max_restarts".
  std::function<std::string(std::string_view field)> naming = {};

  /// The name of a field in messages, by `naming`.
  ELASTIC_DECL std::string name_of(std::string_view field) const;
};

/// Checks the bounds of a worker_spec. Errors: `errc::invalid_argument`, with the allowed range.
ELASTIC_DECL void validate(const worker_spec& spec);
ELASTIC_DECL void validate(const worker_spec::restart_terms& terms);

/// The ranks in a text such as "0,8-15", for `worker_spec::wrapper::ranks`.
/// Errors: `errc::invalid_argument` for another text, and for more than 1024 parts.
ELASTIC_DECL std::vector<std::pair<int, int>> parse_wrap_ranks(std::string_view text);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_spec.ipp>
#endif

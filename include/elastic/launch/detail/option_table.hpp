// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace elastic::detail {

/// One option of elasticrun.
struct option_row {
  /// "-t,--tee".
  const char* names;
  /// What stands for its value in the help; null for a flag.
  const char* value;
  /// The heading under which --help lists it; null: it is refused, and `text` says why.
  const char* heading;
  const char* text;
  /// torchrun has no such option: no abbreviation that is unique there becomes ambiguous by it.
  bool is_own = false;
};

inline constexpr char heading_workers[] = "What to run on this node";
inline constexpr char heading_nodes[] = "Which nodes, and how they meet";
inline constexpr char heading_failure[] = "When workers fail or the job is stopped";
inline constexpr char heading_output[] = "Output, logs and events";
inline constexpr char heading_ignored[] = "Accepted because torchrun has it; no effect here";
inline constexpr char heading_other[] = "Other";

// The options in the order of --help. A name that is missing here is unknown.
inline constexpr option_row option_rows[] = {
    {"--nproc-per-node", "N", heading_workers,
     "Number of workers on this node: a number, cpu (one for each processor), gpu (one for each "
     "GPU) or auto (gpu where there is one, else cpu). Default: 1. GPUs are counted by their "
     "device files and CUDA_VISIBLE_DEVICES."},
    {"--role", "NAME", heading_workers,
     "Name of the workers' role, in ROLE_NAME, line prefixes, events and metrics. Default: "
     "default."},
    {"-m,--module", nullptr, heading_workers, "Run the script as a module, like python -m."},
    {"--no-python", nullptr, heading_workers,
     "Run the script itself, without Python. It is looked up in PATH."},
    {"--run-path", nullptr, heading_workers,
     "Run the script by Python even if --no-python is given. The same as the default: every worker "
     "is a Python process of its own (python -u script), none runs inside elasticrun."},
    {"--env", "NAME=VALUE", heading_workers,
     "A variable of the workers, on top of what they inherit; ${local_rank}, ${rank} and "
     "${role_name} in the value become the worker's. May be given several times.",
     true},
    {"--virtual-local-rank", nullptr, heading_workers,
     "Each worker sees one GPU: LOCAL_RANK is 0 and CUDA_VISIBLE_DEVICES has one entry."},
    {"--numa-binding", "KIND", heading_workers,
     "On which processors a worker runs: node (those of the NUMA node of its GPU, or of its share "
     "of the nodes), socket, exclusive (cores of that node that no other worker has), core-complex "
     "(cores with a common cache). Default: all."},
    {"--cpu-affinity", "LISTS", heading_workers,
     "The same by local rank: lists of processors with a colon between, such as 0-3:4-7.", true},
    {"--standalone", nullptr, heading_nodes,
     "One node by itself: no address or port to agree on, a fresh run id, and as many jobs on one "
     "machine as you like. --rdzv-backend, --rdzv-endpoint and --rdzv-id are then not used. This "
     "is also what a job of one node gets that names no rendezvous at all."},
    {"--nnodes", "N|MIN:MAX", heading_nodes,
     "Number of nodes, or the range within which the job may run. With a range the first round "
     "waits for further nodes for 30 s once it has MIN (--rdzv-conf last_call_timeout); later "
     "rounds begin as soon as every node that is left or waits is there. Default: 1."},
    {"--rdzv-backend", "NAME", heading_nodes,
     "How nodes meet: static (ranks given by --node-rank, the node of rank 0 at --master-addr), "
     "c10d (at a server that the node at --rdzv-endpoint hosts; nodes may come and go), etcd (in "
     "an etcd, by its v3 API, or v2 where it has no other, or as torchrun's etcd where its nodes "
     "meet there; etcd-v3 and etcd-v2 name one) or file "
     "(in a directory that all nodes share). Default: static."},
    {"--rdzv-endpoint", "HOST[:PORT]", heading_nodes,
     "Where nodes meet: for etcd HOST[:PORT] of one or more members, with commas between them, for "
     "file a directory. Default: the backend's (static: --master-addr and --master-port; c10d: "
     "localhost:29400; etcd: localhost:2379)."},
    {"--rdzv-id", "ID", heading_nodes,
     "Names the job: nodes with the same id meet. Workers see it as TORCHELASTIC_RUN_ID. Default: "
     "none."},
    {"--rdzv-conf", "KEY=VALUE,...", heading_nodes, "Further settings of the rendezvous backend."},
    {"--node-rank", "RANK", heading_nodes,
     "This node's rank, for the backend static only. Default: 0."},
    {"--master-addr", "HOST", heading_nodes,
     "Where the node of rank 0 serves, for the backend static only. Default: 127.0.0.1."},
    {"--master-port", "PORT", heading_nodes,
     "The port there, for the backend static only. Default: 29500."},
    {"--local-addr", "ADDRESS", heading_nodes,
     "The address of this node that workers and other nodes are told, for backends such as c10d. "
     "Default: found out."},
    {"--max-restarts", "N", heading_failure,
     "How often the workers are started again after a failure. All of a node's workers are "
     "restarted together. Default: 0."},
    {"--restart-delay", "SECONDS", heading_failure,
     "How long to wait before a restart; twice as long before each further one, up to "
     "--restart-delay-max. Default: 0, at once.",
     true},
    {"--restart-delay-max", "SECONDS", heading_failure,
     "The longest wait before a restart. Default: 60.", true},
    {"--restart-healthy-uptime", "SECONDS", heading_failure,
     "Workers that ran for so long were healthy: the wait after their failure is --restart-delay "
     "again. Default: 60.",
     true},
    {"--restart-window", "SECONDS", heading_failure,
     "Only failures of the last so many seconds use up --max-restarts. Default: 0, all of them.",
     true},
    {"--restart-never-after", "ENDS", heading_failure,
     "After which ends of a worker there is no restart: exit codes and signals, such as "
     "93,SIGABRT. Default: none.",
     true},
    {"--restart-only-after", "ENDS", heading_failure,
     "After which ends of a worker alone there is one. Default: any.", true},
    {"--shutdown-timeout", "SECONDS", heading_failure,
     "How long workers may take to end after they were told to (SIGTERM, or the signal that "
     "elasticrun got) before they are killed. Default: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, else 30."},
    {"--signals-to-handle", "SIGNALS", heading_failure,
     "The signals that stop the job, each passed to the workers, such as SIGTERM,SIGINT. Default: "
     "TORCHELASTIC_SIGNALS_TO_HANDLE, else SIGTERM,SIGINT,SIGHUP,SIGQUIT."},
    {"--forward-signals", "SIGNALS", heading_failure,
     "Signals that are passed on to the workers while the job goes on, such as SIGUSR1,SIGUSR2. "
     "Default: none.",
     true},
    {"--preempt-grace", "SECONDS", heading_failure,
     "On SIGTERM, how long workers that speak on the control channel (ELASTIC_CONTROL) may take to "
     "save a checkpoint before they are told to end. Default: 0, they are not asked.",
     true},
    {"--heartbeat-timeout", "SECONDS", heading_failure,
     "A worker that has sent a heartbeat over the control channel and sends no other for so long "
     "is hung: it is killed and has failed. Default: 0, never.",
     true},
    {"--first-heartbeat-timeout", "SECONDS", heading_failure,
     "The same for the time from a worker's start to its first heartbeat. Default: 0, never.",
     true},
    {"--learn-timeouts", "FACTOR", heading_failure,
     "Where no time-out was named for heartbeats or a section of work, it is the longest that was "
     "seen times this factor. Default: 0, nothing is learned.",
     true},
    {"--hang-hook", "COMMAND", heading_failure,
     "Runs /bin/sh -c COMMAND for each hung worker before any worker is ended because of it, to "
     "collect its stack: with ELASTIC_HUNG_RANK, _LOCAL_RANK, _PID, _REASON and _LOG_DIR in the "
     "environment. Default: none.",
     true},
    {"--hang-hook-timeout", "SECONDS", heading_failure,
     "How long these commands may take before they are killed. Default: 10.", true},
    {"--guard", "POLICY", heading_failure,
     "Whether a guard process ends what a worker leaves behind, daemons too, even if elasticrun is "
     "killed: required, best-effort (where there can be none, a warning says what is lost) or "
     "none. Default: best-effort.",
     true},
    {"--log-dir", "DIR", heading_output,
     "Where the log files of the workers go, each run in a directory of its own. Default: the "
     "temporary folder, where nothing is kept of a run that succeeds. /dev/null: no files at all."},
    {"-r,--redirects", "STREAMS", heading_output,
     "Write streams to files instead of the console: 0 (none), 1 (stdout), 2 (stderr), 3 (both), "
     "or by local rank, such as 0:3,1:0. Default: 0."},
    {"-t,--tee", "STREAMS", heading_output,
     "Write streams to files and to the console, there with a prefix to each line. The same "
     "values. Default: 0."},
    {"--log-line-prefix-template", "TEXT", heading_output,
     "The prefix of teed lines, with ${role_name}, ${rank}, ${local_rank}, ${pid}, ${hostname} and "
     "${time}. Default: TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE, else [${role_name}${local_rank}]: "
     "as torchrun."},
    {"--log-format", "FORMAT", heading_output,
     "How output is shown: text, or json: each line, teed or not, as an object with time, host, "
     "role, rank, local_rank, attempt, stream and text. Log files keep what was written. Default: "
     "text.",
     true},
    {"--local-ranks-filter", "RANKS", heading_output,
     "Show the output of these local ranks only, such as 0,1. Log files are not filtered. Default: "
     "all."},
    {"--duplicate-stdout-filters", "TEXTS", heading_output,
     "Write each line of any worker's stdout that contains one of these texts, such as loss,error, "
     "to filtered_stdout.log in the attempt's log directory, too, with its prefix. A comma in a "
     "text is written twice."},
    {"--duplicate-stderr-filters", "TEXTS", heading_output,
     "The same for stderr and filtered_stderr.log."},
    {"--log-max-size", "SIZE", heading_output,
     "Put a log file aside at this size, such as 500k, 100M or 2G, and begin a new one: "
     "stdout.log.1 is the one before. What is redirected then goes through elasticrun. Default: "
     "files grow without end.",
     true},
    {"--log-max-files", "N", heading_output,
     "How many files to keep of one log then, the current one among them. Default: 5.", true},
    {"--logs-specs", "NAME", heading_output,
     "Who decides where output goes. default is what the options above say; programs that embed "
     "the library can add others. Default: default."},
    {"--no-progress", nullptr, heading_output,
     "Do not show in the last row of the terminal how far the workers are, which otherwise happens "
     "from the first report of a worker on (control channel).",
     true},
    {"--event-log-handler", "NAME", heading_output,
     "Where events go: null (nowhere) or console (JSON lines on stderr). Default: null."},
    {"--monitor-interval", "SECONDS", heading_ignored,
     "elasticrun does not poll its workers: it learns of an exit as it happens."},
    {"-h,--help", nullptr, heading_other, "Show this help and exit."},
    {"--version", nullptr, heading_other, "Show the version and the I/O in use, and exit."},

    {"--start-method", "METHOD", nullptr,
     "it is for functions as entry points, which elasticrun does not run (a C++ program has them "
     "by elastic::entrypoint); a script is always a new process"},
    {"--print-completion", "SHELL", nullptr, "elasticrun has no shell completion yet"},
};

/// CLI11's table of the options above and the values that it takes for them.
class option_table {
 public:
  ELASTIC_DECL option_table();

  const std::vector<CLI::Option*>& options() const { return options_; }

  static bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

  /// "--tee" for the option with "-t" and "--tee".
  ELASTIC_DECL static std::string long_name(const CLI::Option& option);

  /// Reads tokens that are known to be options and their values.
  ELASTIC_DECL void parse(std::vector<std::string> tokens);

  /// Every value given for an option, in order.
  ELASTIC_DECL std::vector<std::string> all_given(const CLI::Option& option) const;

  /// The last value given for an option; empty where it was not given. A flag's value is "1".
  ELASTIC_DECL std::optional<std::string> given(const CLI::Option& option) const;

 private:
  CLI::App app_;
  // Deques: CLI11 keeps references to what it fills.
  std::deque<std::string> texts_;
  std::deque<bool> flags_;
  std::vector<CLI::Option*> options_;
};

/// A value and where it was given: "--tee" or "PET_TEE".
struct option_value {
  std::string text;
  std::string source;
};

/// What the user gave: on the command line, else in the environment.
class option_values {
 public:
  ELASTIC_DECL option_values(const option_table& table, const environment_map& environment);

  /// The value of an option: from the command line, else of PET_<NAME>, else of the variable
  /// `fallback`. A variable that is empty counts as not set.
  ELASTIC_DECL std::optional<option_value> find(std::string_view name,
                                                std::string_view fallback = {}) const;

  /// Every value of an option that may be given several times; of PET_<NAME> there is one.
  ELASTIC_DECL std::vector<option_value> find_all(std::string_view name) const;

  /// Whether a flag is on. In the environment it has a number: 0 is off.
  ELASTIC_DECL bool flag(std::string_view name) const;

  /// Errors: `errc::invalid_argument`, with the reason, where an option was given that torchrun
  /// has and elasticrun has not.
  ELASTIC_DECL void check_refused() const;

 private:
  ELASTIC_DECL const CLI::Option& option(std::string_view name) const;
  ELASTIC_DECL std::optional<option_value> given_flag(const char* name) const;

  /// PET_LOG_DIR for --log-dir.
  ELASTIC_DECL static std::string variable_of(std::string_view name);

  const option_table* table_;
  const environment_map* environment_;
};

/// What --help shows.
ELASTIC_DECL std::string help_text();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/option_table.ipp>
#endif

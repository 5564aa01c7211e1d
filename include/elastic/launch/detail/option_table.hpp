// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/environment.hpp>

#include <algorithm>
#include <charconv>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

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
     "${role_name} in the value become the worker's. May be given several times.", true},
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
     "--restart-delay-max. Default: 0, at once.", true},
    {"--restart-delay-max", "SECONDS", heading_failure,
     "The longest wait before a restart. Default: 60.", true},
    {"--restart-healthy-uptime", "SECONDS", heading_failure,
     "Workers that ran for so long were healthy: the wait after their failure is --restart-delay "
     "again. Default: 60.", true},
    {"--restart-window", "SECONDS", heading_failure,
     "Only failures of the last so many seconds use up --max-restarts. Default: 0, all of them.",
     true},
    {"--restart-never-after", "ENDS", heading_failure,
     "After which ends of a worker there is no restart: exit codes and signals, such as "
     "93,SIGABRT. Default: none.", true},
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
     "Default: none.", true},
    {"--preempt-grace", "SECONDS", heading_failure,
     "On SIGTERM, how long workers that speak on the control channel (ELASTIC_CONTROL) may take to "
     "save a checkpoint before they are told to end. Default: 0, they are not asked.", true},
    {"--heartbeat-timeout", "SECONDS", heading_failure,
     "A worker that has sent a heartbeat over the control channel and sends no other for so long "
     "is hung: it is killed and has failed. Default: 0, never.", true},
    {"--first-heartbeat-timeout", "SECONDS", heading_failure,
     "The same for the time from a worker's start to its first heartbeat. Default: 0, never.",
     true},
    {"--learn-timeouts", "FACTOR", heading_failure,
     "Where no time-out was named for heartbeats or a section of work, it is the longest that was "
     "seen times this factor. Default: 0, nothing is learned.", true},
    {"--hang-hook", "COMMAND", heading_failure,
     "Runs /bin/sh -c COMMAND for each hung worker before any worker is ended because of it, to "
     "collect its stack: with ELASTIC_HUNG_RANK, _LOCAL_RANK, _PID, _REASON and _LOG_DIR in the "
     "environment. Default: none.", true},
    {"--hang-hook-timeout", "SECONDS", heading_failure,
     "How long these commands may take before they are killed. Default: 10.", true},
    {"--guard", "POLICY", heading_failure,
     "Whether a guard process ends what a worker leaves behind, daemons too, even if elasticrun is "
     "killed: required, best-effort (where there can be none, a warning says what is lost) or "
     "none. Default: best-effort.", true},
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
     "text.", true},
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
     "files grow without end.", true},
    {"--log-max-files", "N", heading_output,
     "How many files to keep of one log then, the current one among them. Default: 5.", true},
    {"--logs-specs", "NAME", heading_output,
     "Who decides where output goes. default is what the options above say; programs that embed "
     "the library can add others. Default: default."},
    {"--no-progress", nullptr, heading_output,
     "Do not show in the last row of the terminal how far the workers are, which otherwise happens "
     "from the first report of a worker on (control channel).", true},
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
  option_table() {
    app_.set_help_flag();  // `--help` is a row like the others
    for (const option_row& row : option_rows) {
      CLI::Option* option = nullptr;
      if (row.value != nullptr) {
        option = app_.add_option(row.names, texts_.emplace_back());
      } else {
        option = app_.add_flag(row.names, flags_.emplace_back());
      }
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      option->group(row.heading != nullptr ? row.heading : "");
      options_.push_back(option);
    }
  }

  const std::vector<CLI::Option*>& options() const { return options_; }

  static bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

  /// "--tee" for the option with "-t" and "--tee".
  static std::string long_name(const CLI::Option& option) {
    return "--" + option.get_lnames().front();
  }

  /// Reads tokens that are known to be options and their values.
  void parse(std::vector<std::string> tokens) {
    std::reverse(tokens.begin(), tokens.end());
    try {
      app_.parse(std::move(tokens));
    } catch (const CLI::ParseError& refusal) {
      throw error(errc::invalid_argument, refusal.what());
    }
  }

  /// Every value given for an option, in order.
  std::vector<std::string> all_given(const CLI::Option& option) const {
    return option.count() == 0 ? std::vector<std::string>() : option.results();
  }

  /// The last value given for an option; empty where it was not given. A flag's value is "1".
  std::optional<std::string> given(const CLI::Option& option) const {
    if (option.count() == 0) return std::nullopt;
    return takes_value(option) ? option.results().back() : std::string("1");
  }

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
  option_values(const option_table& table, const environment_map& environment)
      : table_(&table), environment_(&environment) {}

  /// The value of an option: from the command line, else of PET_<NAME>, else of the variable
  /// `fallback`. A variable that is empty counts as not set.
  std::optional<option_value> find(std::string_view name, std::string_view fallback = {}) const {
    if (const auto text = table_->given(option(name))) {
      return option_value{*text, std::string(name)};
    }
    for (const std::string& variable : {variable_of(name), std::string(fallback)}) {
      auto text = find_variable(*environment_, variable);
      if (text && !text->empty()) return option_value{*std::move(text), variable};
    }
    return std::nullopt;
  }

  /// Every value of an option that may be given several times; of PET_<NAME> there is one.
  std::vector<option_value> find_all(std::string_view name) const {
    std::vector<option_value> all;
    for (std::string& text : table_->all_given(option(name))) {
      all.push_back({std::move(text), std::string(name)});
    }
    if (const auto other = find(name); all.empty() && other) all.push_back(*other);
    return all;
  }

  /// Whether a flag is on. In the environment it has a number: 0 is off.
  bool flag(std::string_view name) const {
    const auto given = find(name);
    if (!given) return false;
    int value = 0;
    const char* end = given->text.data() + given->text.size();
    const auto [stop, failure] = std::from_chars(given->text.data(), end, value);
    if (failure != std::errc() || stop != end) {
      throw error(errc::invalid_argument,
                  fmt::format("{} '{}': allowed are 0 (off) and 1 (on)", given->source,
                              given->text));
    }
    return value != 0;
  }

  /// Errors: `errc::invalid_argument`, with the reason, where an option was given that torchrun
  /// has and elasticrun has not.
  void check_refused() const {
    for (const option_row& row : option_rows) {
      if (row.heading != nullptr) continue;
      const auto given = row.value != nullptr ? find(row.names) : given_flag(row.names);
      if (given) {
        throw error(errc::invalid_argument,
                    fmt::format("{} is not supported: {}", given->source, row.text));
      }
    }
  }

 private:
  const CLI::Option& option(std::string_view name) const {
    const auto& options = table_->options();
    const auto found = std::find_if(options.begin(), options.end(), [&](const CLI::Option* one) {
      return option_table::long_name(*one) == name;
    });
    ELASTIC_ASSERT(found != options.end());
    return **found;
  }

  std::optional<option_value> given_flag(const char* name) const {
    return flag(name) ? find(name) : std::nullopt;
  }

  /// PET_LOG_DIR for --log-dir.
  static std::string variable_of(std::string_view name) {
    std::string variable = "PET_";
    for (const char letter : name.substr(2)) {
      variable += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
    }
    return variable;
  }

  const option_table* table_;
  const environment_map* environment_;
};

/// Appends `text` in lines of at most 79 columns; the first begins at column `indent`, where the
/// output stands, and so do all others.
inline void append_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 79;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

inline std::string option_help(const option_row& row) {
  constexpr std::size_t indent = 26;
  std::string line = row.names[1] == '-' ? "      " : "  ";
  line += row.names;
  if (const auto comma = line.find(','); comma != std::string::npos) line.insert(comma + 1, " ");
  if (row.value != nullptr) line += fmt::format(" {}", row.value);
  if (line.size() + 2 > indent) {
    line += '\n';
    line.append(indent, ' ');
  } else {
    line.append(indent - line.size(), ' ');
  }
  append_wrapped(line, row.text, indent);
  return line;
}

inline constexpr char help_head[] =
    R"(Usage: elasticrun [options] script [arguments of the script]

Starts several copies of a training script as one job, watches them, and starts
all of them again when one fails. Takes torchrun's options; scripts for torchrun
run unchanged.

  elasticrun --standalone --nproc-per-node 8 train.py --epochs 3
  elasticrun --nnodes 2:4 --rdzv-backend c10d --rdzv-endpoint host0 \
      --rdzv-id job1 train.py
  elasticrun --nproc-per-node 4 --no-python ./worker --shard '${local_rank}'

Everything after the script is the script's. Options may be written with dashes
or underscores and be shortened as long as they stay unique; of a repeated one
the last counts. In the script's arguments, ${local_rank} becomes the worker's
local rank.
)";

inline constexpr char help_tail[] = R"(
Environment:
  PET_<OPTION>      Default of an option, such as PET_NPROC_PER_NODE=8; flags
                    are 1 or 0. Empty is the same as not set.
  PYTHON_EXEC       The Python to use. Default: python3 from PATH.
  OMP_NUM_THREADS   Becomes 1 for several workers where it is not set.
  LOGLEVEL          DEBUG, INFO, WARNING, ERROR or CRITICAL. Default: WARNING.
  ELASTIC_IO        auto, ring (io_uring) or epoll. Default: auto.
  ELASTIC_GUARD     The guard's program. Default: what elasticrun carries.
  TORCHELASTIC_ERROR_FILE
                    Where the error of the first failed worker is copied to.
  TORCHELASTIC_ENABLE_FILE_TIMER
                    1: serve the timers of PyTorch's FileTimerClient, at the
                    path TORCHELASTIC_TIMER_FILE or in the temporary folder.
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE
                    1: the worker of rank 0 serves the workers' store, and not
                    elasticrun (which the static rendezvous always does).

Exit codes:
  0         all workers succeeded
  1         workers failed, or the nodes did not meet
  2         the command line, a file or a port cannot be used; nothing ran
  126, 127  the program to run cannot be executed, does not exist
  128+N     stopped by signal N: the workers were told and had time to end; a
            second SIGINT kills them at once
)";

inline std::string refused_names() {
  std::string names;
  for (const option_row& row : option_rows) {
    if (row.heading == nullptr) names += (names.empty() ? "" : ", ") + std::string(row.names);
  }
  return names;
}

/// What --help shows.
inline std::string help_text() {
  std::string text = help_head;
  const char* heading = nullptr;
  for (const option_row& row : option_rows) {
    if (row.heading == nullptr) continue;
    if (row.heading != heading) text += fmt::format("\n{}:\n", row.heading);
    heading = row.heading;
    text += option_help(row);
  }
  text += "\nNot supported (each is refused with the reason):\n  ";
  append_wrapped(text, refused_names(), 2);
  return text + help_tail;
}

}  // namespace elastic::detail

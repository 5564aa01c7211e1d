// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: includes CLI11, which only a program wants.

#include <elastic/agent/line_template.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/launch/detail/option_scan.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/launch/io_choice.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/exit_selection.hpp>
#include <elastic/process/signal_number.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What the command line is read against: all that is not in the arguments themselves.
struct command_line_facts {
  /// Gives the PET_* defaults, PYTHON_EXEC and the like, and is what workers inherit.
  environment_map environment;
  /// What "cpu" and "gpu" mean for --nproc-per-node: see count_processors, count_accelerators.
  int processors = 1;
  int accelerators = 0;
};

/// What the arguments said.
struct command_line {
  launch_config config;
  /// The threshold for log lines: LOGLEVEL.
  log_level threshold = log_level::warning;
  /// ELASTIC_IO; `config.use_ring` follows from it.
  io_choice io = io_choice::automatic;
  /// What is allowed but surely not meant, one sentence each.
  std::vector<std::string> warnings;
};

/// The version was asked for: see `show_version`.
struct version_request {
  io_choice io = io_choice::automatic;
};

/// The arguments of `elasticrun` (without the program's own name) as a configuration, or why the
/// program should end now: version, help, or an error with exit code 2.
///
/// The options are torchrun's. Names may be written with dashes or underscores and be shortened as
/// long as they stay unique; of a repeated option the last counts; what follows the script is the
/// script's. An option that is not given has the value of PET_<NAME>, where that is not empty.
///
/// A pure function: it looks at no file, device or environment but `facts`.
std::variant<command_line, version_request, early_exit> parse_command_line(
    const std::vector<std::string>& arguments, const command_line_facts& facts);

namespace detail {

/// A whole number from `low` to `high`; empty for anything else.
inline std::optional<int> number_between(std::string_view text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < low || value > high) return std::nullopt;
  return value;
}

[[noreturn]] inline void refuse_value(const option_value& given, std::string_view allowed) {
  throw error(errc::invalid_argument,
              fmt::format("{} {}: {}", given.source, in_quotes(given.text), allowed));
}

inline void read_number(const option_values& values, const char* name, int low, int high,
                        int& result) {
  const auto given = values.find(name);
  if (!given) return;
  const auto number = number_between(given->text, low, high);
  if (!number) {
    refuse_value(*given, fmt::format("a whole number from {} to {} is needed", low, high));
  }
  result = *number;
}

inline std::chrono::milliseconds seconds_of(const option_value& given) {
  constexpr double most = 1e8;
  double value = 0;
  const char* end = given.text.data() + given.text.size();
  const auto [stop, failure] = std::from_chars(given.text.data(), end, value);
  if (failure != std::errc() || stop != end || !(value >= 0) || value > most) {
    refuse_value(given, "a number of seconds is needed, 0 or more");
  }
  return std::chrono::milliseconds(std::llround(value * 1000));
}

template <class Duration>
void read_seconds(const option_values& values, const char* name, Duration& result) {
  if (const auto given = values.find(name)) result = seconds_of(*given);
}

inline void read_text(const option_values& values, const char* name, std::string& result) {
  if (const auto given = values.find(name)) result = given->text;
}

inline void read_streams(const option_values& values, const char* name, stream_selection& result) {
  const auto given = values.find(name);
  if (!given) return;
  try {
    result = stream_selection::parse(given->text);
  } catch (const error&) {
    refuse_value(*given,
                 "allowed are 0 (none), 1 (stdout), 2 (stderr) and 3 (both) for all workers, or a "
                 "list such as 0:3,1:1 by local rank (one digit)");
  }
}

/// "N" or "MIN:MAX".
inline void read_nodes(const option_values& values, launch_config& config) {
  const auto given = values.find("--nnodes");
  if (!given) return;
  const std::string_view text = given->text;
  const std::size_t colon = text.find(':');
  const auto least = number_between(text.substr(0, colon), 1, limits::nodes);
  const auto most = colon == std::string_view::npos
                        ? least
                        : number_between(text.substr(colon + 1), 1, limits::nodes);
  if (!least || !most || *least > *most) {
    refuse_value(*given, fmt::format("allowed is N, or MIN:MAX with 1 <= MIN <= MAX <= {}",
                                     limits::nodes));
  }
  config.min_nodes = *least;
  config.max_nodes = *most;
}

inline void read_workers(const option_values& values, const command_line_facts& facts,
                         launch_config& config) {
  const auto given = values.find("--nproc-per-node");
  if (!given) return;
  std::optional<int> count = number_between(given->text, 1, limits::local_world_size);
  if (given->text == "gpu" && facts.accelerators == 0) {
    refuse_value(*given, "no GPU was found that workers could use; try a number, cpu or auto");
  }
  if (given->text == "xpu") {
    refuse_value(*given, "these devices are not counted by elasticrun; a number is needed");
  }
  if (given->text == "cpu") count = facts.processors;
  if (given->text == "gpu") count = facts.accelerators;
  if (given->text == "auto") count = facts.accelerators > 0 ? facts.accelerators : facts.processors;
  if (!count) {
    refuse_value(*given, fmt::format("allowed are a number from 1 to {}, cpu, gpu and auto",
                                     limits::local_world_size));
  }
  config.nproc_per_node = std::min(*count, limits::local_world_size);
}

/// "--env NAME=VALUE", each.
inline void read_variables(const option_values& values, launch_config& config) {
  for (const option_value& given : values.find_all("--env")) {
    const std::size_t equals = given.text.find('=');
    if (equals == std::string::npos || equals == 0) {
      refuse_value(given, "NAME=VALUE is needed");
    }
    config.worker_variables.emplace_back(given.text.substr(0, equals),
                                         given.text.substr(equals + 1));
  }
}

/// "0-3:4-7", one list for each worker.
inline std::vector<processor_set> affinity_of(const option_value& given) {
  std::vector<processor_set> lists;
  for (std::string_view rest = given.text;;) {
    const std::size_t colon = rest.find(':');
    try {
      lists.push_back(processor_set::parse(rest.substr(0, colon)));
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", given.source, refusal.what()));
    }
    if (colon == std::string_view::npos) return lists;
    rest.remove_prefix(colon + 1);
  }
}

inline void read_placement(const option_values& values, launch_config& config) {
  config.virtual_local_rank = values.flag("--virtual-local-rank");
  const auto binding = values.find("--numa-binding");
  const auto affinity = values.find("--cpu-affinity");
  if (binding && affinity) {
    throw error(errc::invalid_argument, fmt::format("{} and {} exclude each other",
                                                    binding->source, affinity->source));
  }
  if (affinity) {
    config.cpu_affinity = affinity_of(*affinity);
    if (config.cpu_affinity.size() != static_cast<std::size_t>(config.nproc_per_node)) {
      refuse_value(*affinity, fmt::format("a list for each of the {} workers is needed",
                                          config.nproc_per_node));
    }
  }
  if (!binding) return;
  const std::pair<std::string_view, numa_binding> kinds[] = {
      {"node", numa_binding::node},
      {"socket", numa_binding::socket},
      {"exclusive", numa_binding::exclusive},
      {"core-complex", numa_binding::core_complex}};
  const auto found = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const auto& one) { return one.first == binding->text; });
  if (found == std::end(kinds)) {
    refuse_value(*binding, "allowed are node, socket, exclusive and core-complex");
  }
  config.binding = found->second;
}

/// "key=value,key=value": blanks around both are dropped.
inline void read_conf(const option_values& values, launch_config& config) {
  const auto given = values.find("--rdzv-conf");
  if (!given || trimmed(given->text).empty()) return;
  std::string_view rest = given->text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    const std::string_view key = trimmed(pair.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : trimmed(pair.substr(equals + 1));
    if (key.empty() || value.empty()) {
      refuse_value(*given, fmt::format("allowed is key=value,key=value, each with a key and a "
                                       "value, which {} has not",
                                       in_quotes(pair)));
    }
    config.rdzv_conf.emplace_back(key, value);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

inline void check_endpoint(std::string_view source, std::string_view text) {
  try {
    parse_endpoint(text, 0);
  } catch (const error& refusal) {
    throw error(errc::invalid_argument, fmt::format("{}: {}", source, refusal.what()));
  }
}

/// "--master-addr", which may be an IPv6 address in brackets.
inline void read_master(const option_values& values, launch_config& config) {
  int port = config.master_port;
  read_number(values, "--master-port", 0, 65535, port);
  config.master_port = static_cast<std::uint16_t>(port);
  const auto given = values.find("--master-addr");
  if (!given) return;
  check_endpoint(given->source, given->text + ":0");
  config.master_addr = parse_endpoint(given->text + ":0", 0).host;
}

/// The backend static: the nodes' ranks are given, not found out.
inline void check_static(const launch_config& config) {
  if (config.rdzv_backend != "static" || config.standalone) return;
  if (config.min_nodes != config.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("--nnodes {}:{}: the rendezvous backend static needs a fixed number of "
                            "nodes; use another --rdzv-backend for a range",
                            config.min_nodes, config.max_nodes));
  }
  if (config.node_rank >= config.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("--node-rank {}: with --nnodes {} it is 0 to {}", config.node_rank,
                            config.max_nodes, config.max_nodes - 1));
  }
  if (config.max_nodes > 1 && config.rdzv_endpoint.empty() && config.master_port == 0) {
    throw error(errc::invalid_argument,
                "--master-port 0: with several nodes it is a number from 1 to 65535");
  }
}

/// `--standalone`, and what is the same: a single node that was told nothing about a rendezvous,
/// as for torchrun since 2.14. Else two such jobs on one machine would meet at the default port.
inline void read_standalone(const option_values& values, launch_config& config) {
  const bool asked = values.flag("--standalone");
  if (asked && config.min_nodes > 1) {
    throw error(errc::invalid_argument,
                fmt::format("--standalone is for one node, but --nnodes needs at least {}",
                            config.min_nodes));
  }
  bool told = false;
  for (const char* name : {"--rdzv-backend", "--rdzv-endpoint", "--master-addr", "--master-port",
                           "--node-rank"}) {
    told = told || values.find(name);
  }
  config.standalone = asked || (!told && config.max_nodes == 1);
  if (!config.standalone) return;
  config.max_nodes = 1;
  if (asked || !values.find("--rdzv-id")) config.run_id.clear();
}

/// Options that the chosen way to meet does not look at.
inline void warn_of_unused(const option_values& values, const launch_config& config,
                           std::vector<std::string>& warnings) {
  const bool is_static = !config.standalone && config.rdzv_backend == "static";
  const bool uses_master = is_static && config.rdzv_endpoint.empty();
  const auto warn = [&](const char* name, const char* who_uses_it) {
    const auto given = values.find(name);
    if (!given) return;
    warnings.push_back(fmt::format("{} has no effect: {} uses it", given->source, who_uses_it));
  };
  // A rank of 0 is what every node has that is alone; many scripts give it always.
  if (!is_static && config.node_rank != 0) warn("--node-rank", "only --rdzv-backend static");
  for (const char* name : {"--master-addr", "--master-port"}) {
    if (!uses_master) warn(name, "only --rdzv-backend static without --rdzv-endpoint");
  }
  if (config.standalone || is_static) warn("--local-addr", "only a rendezvous such as c10d");
  if (!is_static && !config.standalone && config.max_nodes > 1 && !values.find("--rdzv-id")) {
    warnings.push_back(fmt::format("no --rdzv-id is given: any other job without one would meet "
                                   "this one at the same endpoint, under the name '{}'",
                                   config.run_id));
  }
}

/// The options by which nodes meet.
inline void read_rendezvous(const option_values& values, launch_config& config,
                            std::vector<std::string>& warnings) {
  read_nodes(values, config);
  read_text(values, "--rdzv-backend", config.rdzv_backend);
  read_text(values, "--rdzv-endpoint", config.rdzv_endpoint);
  read_text(values, "--rdzv-id", config.run_id);
  read_text(values, "--local-addr", config.local_addr);
  read_conf(values, config);
  const auto endpoint = values.find("--rdzv-endpoint");
  // Others have endpoints of another form, or several of them, and check them by themselves.
  const bool is_host = config.rdzv_backend == "static" || config.rdzv_backend == "c10d";
  if (endpoint && is_host) check_endpoint(endpoint->source, endpoint->text);
  read_number(values, "--node-rank", 0, limits::nodes - 1, config.node_rank);
  read_master(values, config);
  read_standalone(values, config);
  check_static(config);
  warn_of_unused(values, config, warnings);
}

/// What every worker is: the interpreter with the script, or a program of its own.
inline void read_program(const option_values& values, const std::vector<std::string>& operands,
                         launch_config& config) {
  const bool run_path = values.flag("--run-path");
  const bool module = values.flag("--module");
  const bool direct = values.flag("--no-python") && !run_path;
  if (module && (direct || run_path)) {
    throw error(errc::invalid_argument,
                fmt::format("{} and {} exclude each other", values.find("--module")->source,
                            values.find(run_path ? "--run-path" : "--no-python")->source));
  }
  if (operands.empty() || operands[0].empty()) {
    throw error(errc::invalid_argument, "no script given; the use is: elasticrun [options] script "
                                        "[arguments], see --help");
  }
  config.name = operands[0];
  if (direct) {
    config.program = operands[0];
    config.arguments.assign(operands.begin() + 1, operands.end());
    return;
  }
  const auto python = find_variable(config.environment, "PYTHON_EXEC");
  config.program = python && !python->empty() ? *python : "python3";
  config.arguments.emplace_back("-u");
  if (module) config.arguments.emplace_back("-m");
  if (!module) config.script = operands[0];
  config.arguments.insert(config.arguments.end(), operands.begin(), operands.end());
}

/// "a,b", where a doubled comma is one of the text. Empty texts are none.
inline std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts(1);
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] != ',') {
      texts.back() += list[at];
    } else if (list.substr(at + 1).starts_with(',')) {
      texts.back() += ',';
      ++at;
    } else {
      texts.emplace_back();
    }
  }
  std::erase(texts, "");
  return texts;
}

/// "0,1": local ranks that this node has.
inline void read_console_ranks(const option_values& values, launch_config& config) {
  const auto given = values.find("--local-ranks-filter");
  if (!given) return;
  for (std::string_view rest = given->text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = trimmed(rest.substr(0, comma));
    const auto rank = number_between(one, 0, std::numeric_limits<int>::max());
    if (!rank) refuse_value(*given, "a list of local ranks is needed, such as 0,1");
    if (*rank >= config.nproc_per_node) {
      refuse_value(*given, fmt::format("there is no local rank {}: this node's {} workers have 0 "
                                       "to {}",
                                       *rank, config.nproc_per_node, config.nproc_per_node - 1));
    }
    config.logs.console_ranks.push_back(*rank);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

inline void read_filters(const option_values& values, const char* name,
                         const launch_config& config, std::vector<std::string>& result) {
  const auto given = values.find(name);
  if (!given) return;
  result = split_texts(given->text);
  if (result.empty()) refuse_value(*given, "texts are needed, such as loss,error");
  if (config.log_dir == "/dev/null") {
    refuse_value(*given, "the lines go to a file, but --log-dir is /dev/null");
  }
}

/// A number of bytes: "4096", "500k", "100M", "2G".
inline std::optional<std::uint64_t> size_of(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'k' || unit == 'K' ? 10 : unit == 'm' || unit == 'M' ? 20
            : unit == 'g' || unit == 'G' ? 30 : 0;
  }
  if (shift > 0) text.remove_suffix(1);
  const auto number = number_between(text, 1, std::numeric_limits<int>::max());
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number) << shift;
}

inline void read_rotation(const option_values& values, launch_config& config,
                          std::vector<std::string>& warnings) {
  constexpr std::uint64_t least = 1024;
  const auto size = values.find("--log-max-size");
  if (size) {
    const auto bytes = size_of(size->text);
    if (!bytes || *bytes < least) {
      refuse_value(*size, "a size of 1k or more is needed, such as 500k, 100M or 2G");
    }
    config.logs.rotation.max_bytes = *bytes;
  }
  read_number(values, "--log-max-files", 1, limits::log_files, config.logs.rotation.max_files);
  const auto files = values.find("--log-max-files");
  if (files && !size) {
    warnings.push_back(fmt::format("{} has no effect without --log-max-size", files->source));
  }
}

inline void read_prefix(const option_values& values, launch_config& config,
                        std::vector<std::string>& warnings) {
  const auto given =
      values.find("--log-line-prefix-template", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
  if (!given) return;
  config.log_line_prefix_template = given->text;
  try {
    line_template{given->text};
  } catch (const error& refusal) {
    refuse_value(*given, refusal.what());
  }
  if (config.logs.format == log_format::json) {
    warnings.push_back(fmt::format("{} has no effect with --log-format json", given->source));
  }
}

/// After the workers were counted.
inline void read_output(const option_values& values, launch_config& config,
                        std::vector<std::string>& warnings) {
  config.progress = !values.flag("--no-progress");
  read_text(values, "--log-dir", config.log_dir);
  read_streams(values, "--redirects", config.redirects);
  read_streams(values, "--tee", config.tee);
  read_text(values, "--event-log-handler", config.event_log_handler);
  read_text(values, "--logs-specs", config.logs_specs);
  if (const auto format = values.find("--log-format")) {
    if (format->text == "json") {
      config.logs.format = log_format::json;
    } else if (format->text != "text") {
      refuse_value(*format, "allowed are text and json");
    }
  }
  read_console_ranks(values, config);
  read_filters(values, "--duplicate-stdout-filters", config, config.logs.stdout_filters);
  read_filters(values, "--duplicate-stderr-filters", config, config.logs.stderr_filters);
  read_rotation(values, config, warnings);
  read_prefix(values, config, warnings);
}

/// When workers are asked for a checkpoint, and after how long they are hung.
inline void read_health(const option_values& values, launch_config& config) {
  read_seconds(values, "--preempt-grace", config.preempt_grace);
  read_seconds(values, "--heartbeat-timeout", config.heartbeat_timeout);
  read_seconds(values, "--first-heartbeat-timeout", config.first_heartbeat_timeout);
  const auto factor = values.find("--learn-timeouts");
  if (!factor) return;
  constexpr double most = 1e6;
  double value = 0;
  const char* end = factor->text.data() + factor->text.size();
  const auto [stop, failure] = std::from_chars(factor->text.data(), end, value);
  const bool allowed = value == 0 || (value >= 1 && value <= most);
  if (failure != std::errc() || stop != end || !allowed) {
    refuse_value(*factor, "allowed are 0 (nothing is learned) and a factor from 1 to 1000000");
  }
  config.learn_timeouts = value;
}

inline void read_ends(const option_values& values, const char* name, exit_selection& result) {
  const auto given = values.find(name);
  if (!given) return;
  try {
    result = exit_selection::parse(given->text);
  } catch (const error& refusal) {
    throw error(errc::invalid_argument, fmt::format("{}: {}", given->source, refusal.what()));
  }
}

inline void read_restarts(const option_values& values, launch_config& config) {
  constexpr int no_limit = std::numeric_limits<int>::max();
  read_number(values, "--max-restarts", 0, no_limit, config.max_restarts);
  restart_terms& terms = config.restart;
  read_seconds(values, "--restart-delay", terms.delay);
  read_seconds(values, "--restart-delay-max", terms.max_delay);
  read_seconds(values, "--restart-healthy-uptime", terms.healthy_uptime);
  read_seconds(values, "--restart-window", terms.window);
  read_ends(values, "--restart-never-after", terms.never_after);
  read_ends(values, "--restart-only-after", terms.only_after);
  validate(terms);
}

/// "SIGTERM,SIGINT".
inline void read_signal_list(const std::optional<option_value>& given, std::vector<int>& result) {
  if (!given) return;
  result.clear();
  for (std::string_view rest = given->text;;) {
    const std::size_t comma = rest.find(',');
    const auto number = signal_number(trimmed(rest.substr(0, comma)));
    if (!number) refuse_value(*given, "names of signals are needed, such as SIGTERM,SIGUSR1");
    result.push_back(*number);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

inline void read_signals(const option_values& values, launch_config& config) {
  const auto stop = values.find("--signals-to-handle", "TORCHELASTIC_SIGNALS_TO_HANDLE");
  const auto forward = values.find("--forward-signals");
  read_signal_list(stop, config.signals.stop);
  read_signal_list(forward, config.signals.forward);
  try {
    validate(config.signals);
  } catch (const error& refusal) {
    const std::string& source = forward ? forward->source : stop->source;
    throw error(errc::invalid_argument, fmt::format("{}: {}", source, refusal.what()));
  }
}

inline void read_times(const option_values& values, launch_config& config) {
  const auto grace = values.find("--shutdown-timeout", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
  if (grace) config.shutdown_timeout = seconds_of(*grace);
  const auto interval = values.find("--monitor-interval");
  if (interval) {
    config.monitor_interval = std::max(seconds_of(*interval), std::chrono::milliseconds(1));
  }
  read_health(values, config);
}

inline void read_guard(const option_values& values, launch_config& config) {
  config.guard_file = find_variable(config.environment, "ELASTIC_GUARD").value_or("");
  const auto policy = values.find("--guard");
  if (!policy) return;
  if (policy->text == "required") {
    config.guard = guard_policy::required;
  } else if (policy->text == "best-effort") {
    config.guard = guard_policy::best_effort;
  } else if (policy->text == "none") {
    config.guard = guard_policy::none;
  } else {
    refuse_value(*policy, "allowed are required, best-effort and none");
  }
}

/// LOGLEVEL, with Python's names.
inline log_level read_log_level(const environment_map& environment) {
  std::string name = find_variable(environment, "LOGLEVEL").value_or("");
  for (char& letter : name) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  if (name.empty() || name == "WARNING" || name == "WARN") return log_level::warning;
  if (name == "DEBUG") return log_level::debug;
  if (name == "INFO") return log_level::info;
  if (name == "ERROR") return log_level::error;
  if (name == "CRITICAL" || name == "FATAL" || name == "OFF") return log_level::off;
  throw error(errc::invalid_argument,
              fmt::format("LOGLEVEL {}: allowed are DEBUG, INFO, WARNING, ERROR and CRITICAL",
                          in_quotes(name)));
}

inline io_choice read_io(const environment_map& environment) {
  const std::string name = find_variable(environment, "ELASTIC_IO").value_or("");
  if (name.empty() || name == "auto") return io_choice::automatic;
  if (name == "ring") return io_choice::ring;
  if (name == "epoll") return io_choice::epoll;
  throw error(errc::invalid_argument,
              fmt::format("ELASTIC_IO {}: allowed are auto, ring and epoll", in_quotes(name)));
}

inline command_line interpret(const option_values& values, const std::vector<std::string>& operands,
                              const command_line_facts& facts) {
  values.check_refused();
  command_line result;
  launch_config& config = result.config;
  config.environment = facts.environment;
  result.threshold = read_log_level(facts.environment);
  result.io = read_io(facts.environment);
  config.use_ring = result.io != io_choice::epoll;
  read_rendezvous(values, config, result.warnings);
  read_workers(values, facts, config);
  read_variables(values, config);
  read_placement(values, config);
  read_text(values, "--role", config.role);
  read_restarts(values, config);
  read_signals(values, config);
  read_times(values, config);
  read_guard(values, config);
  read_output(values, config, result.warnings);
  read_program(values, operands, config);
  return result;
}

}  // namespace detail

inline std::variant<command_line, version_request, early_exit> parse_command_line(
    const std::vector<std::string>& arguments, const command_line_facts& facts) {
  try {
    detail::option_table table;
    const detail::scanned_arguments scanned = detail::scan_options(table, arguments);
    if (scanned.help) return early_exit{0, detail::help_text(), false};
    if (scanned.version) return version_request{detail::read_io(facts.environment)};
    table.parse(scanned.tokens);
    return detail::interpret(detail::option_values(table, facts.environment), scanned.operands,
                             facts);
  } catch (const error& refusal) {
    return refuse(refusal.what());
  }
}

}  // namespace elastic

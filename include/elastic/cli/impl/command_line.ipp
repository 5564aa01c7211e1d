// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/command_line.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/cli/default_python.hpp>
#include <elastic/cli/detail/given_options.hpp>
#include <elastic/cli/detail/node_tasks.hpp>
#include <elastic/cli/detail/option_checks.hpp>
#include <elastic/cli/detail/option_documents.hpp>
#include <elastic/cli/detail/option_help.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <elastic/cli/detail/option_scan.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/cli/detail/slurm_step.hpp>
#include <elastic/cli/machine.hpp>
#include <elastic/contract/environment.hpp>

#include <unistd.h>

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// The log level for a number of Python's; a number between two levels counts as the higher one.
inline log_level level_of_number(int number) {
  if (number <= 0) return log_level::warning;  // Python's NOTSET leaves it to the default
  if (number <= 10) return log_level::debug;
  if (number <= 20) return log_level::info;
  if (number <= 30) return log_level::warning;
  return number <= 40 ? log_level::error : log_level::off;
}

/// Reads LOGLEVEL, with Python's names. Numbers and NOTSET only cause a warning, because they may
/// be meant for the workers.
inline log_level read_log_level(const environment_map& environment,
                                std::vector<std::string>& warnings) {
  std::string name = find_variable(environment, "LOGLEVEL").value_or("");
  for (char& letter : name) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  if (name.empty() || name == "WARNING" || name == "WARN") return log_level::warning;
  if (name == "DEBUG") return log_level::debug;
  if (name == "INFO") return log_level::info;
  if (name == "ERROR") return log_level::error;
  if (name == "CRITICAL" || name == "FATAL" || name == "OFF") return log_level::off;
  constexpr char allowed[] = "DEBUG, INFO, WARNING, ERROR and CRITICAL";
  const auto number = number_between(name == "NOTSET" ? "0" : name, 0, 1'000'000);
  if (!number) {
    throw error(errc::invalid_argument,
                fmt::format("LOGLEVEL {}: the levels are {}", in_quotes(name), allowed));
  }
  warnings.push_back(
      fmt::format("LOGLEVEL {}: elasticrun knows {}; this is taken for the one at or above it, or "
                  "for WARNING if it is 0 or NOTSET",
                  in_quotes(name), allowed));
  return level_of_number(*number);
}

inline command_line::io_choice read_io(const environment_map& environment) {
  const std::string name = find_variable(environment, "ELASTIC_IO").value_or("");
  if (name.empty() || name == "auto") return command_line::io_choice::automatic;
  if (name == "ring") return command_line::io_choice::ring;
  if (name == "epoll") return command_line::io_choice::epoll;
  throw error(errc::invalid_argument,
              fmt::format("ELASTIC_IO {}: must be auto, ring or epoll", in_quotes(name)));
}

/// Whether the settings of a rendezvous have a password among them.
inline bool names_password(std::string settings) {
  constexpr std::string_view dropped = " \t'\"";
  std::erase_if(settings,
                [&](char letter) { return dropped.find(letter) != std::string_view::npos; });
  return ("," + settings).find(",password=") != std::string::npos;
}

/// Whether the option that shows something is the one with this name.
inline bool shows(const scanned_arguments& scanned, std::string_view long_name) {
  return scanned.options.back().row == &option_named(long_name);
}

inline std::string text_to_show(const scanned_arguments& scanned,
                                const command_line::facts& facts) {
  if (shows(scanned, "--help")) return help_text(facts);
  if (shows(scanned, "--print-man-page")) return man_page(facts.commands);
  const auto& [row, shell] = scanned.options.back();
  option_target unused;
  row->type.read({shell, row->long_name()}, facts, unused);
  return completion_script(shell, facts.commands);
}

/// The option that sets a field of `worker_spec`: "--max-restarts" for "max_restarts".
inline std::string worker_option(std::string_view field) {
  constexpr std::string_view liveness = "liveness.";
  if (field.starts_with(liveness)) field.remove_prefix(liveness.size());
  std::string option = "--";
  for (const char letter : field) option += letter == '_' || letter == '.' ? '-' : letter;
  return option;
}

/// The option that sets a setting of the rendezvous: "--rdzv-id" for "run_id".
inline std::string meeting_option(std::string_view setting) {
  constexpr std::pair<std::string_view, std::string_view> options[] = {
      {"conf", "--rdzv-conf"},
      {"endpoint", "--rdzv-endpoint"},
      {"exclude_for", "--exclude-for"},
      {"local_addr", "--local-addr"},
      {"max_nodes", "--nnodes"},
      {"min_nodes", "--nnodes"},
      {"node_counts", "--nnodes"},
      {"node_name", "--node-name"},
      {"node_rank", "--node-rank"},
      {"run_id", "--rdzv-id"},
      {"scale_up_delay", "--scale-up-delay"}};
  for (const auto& [name, option] : options) {
    if (name == setting) return std::string(option);
  }
  return fmt::format("--rdzv-conf {}", setting);
}

inline command_line interpret(const scanned_arguments& scanned, const command_line::facts& facts) {
  given_options options(scanned.options, facts.environment);
  command_line result;
  option_target target;
  target.config.job.rendezvous.naming = &meeting_option;
  target.config.job.workers.naming = &worker_option;
  target.config.job.workers.environment = facts.environment;
  target.config.job.workers.program = facts.python;
  options.read_into(target, facts);
  slurm_words tasks = adopt_node_tasks(options, facts, target);
  slurm_words slurm = adopt_slurm_step(options, facts, target);
  result.notes = std::move(slurm.notes);
  result.warnings = std::move(tasks.warnings);
  for (std::string& sentence : slurm.warnings) result.warnings.push_back(std::move(sentence));
  result.threshold = read_log_level(facts.environment, result.warnings);
  result.io = read_io(facts.environment);
  for (std::string& sentence : misspelt_variables(facts.environment)) {
    result.warnings.push_back(std::move(sentence));
  }
  if (names_password(find_variable(facts.environment, "PET_RDZV_CONF").value_or(""))) {
    target.config.job.workers.environment.erase("PET_RDZV_CONF");
  }
  program_config& config = target.config;
  launch_config& job = config.job;
  job.rendezvous.use_ring = result.io != command_line::io_choice::epoll;
  job.guard_file = find_variable(facts.environment, "ELASTIC_GUARD").value_or("");
  config.progress = !target.no_progress;
  config.wire.address = job.rendezvous.local_addr;
  constexpr std::chrono::seconds usual_watch(5);
  const bool is_watched = target.watch_workers || !config.program.status.empty();
  if (is_watched) job.workers.watch_interval = usual_watch;
  settle_nodes(options, facts, job, result.warnings);
  check_workers(options, job);
  check_output(options, config, result.warnings);
  settle_program(options, scanned.operands, facts, target, result.warnings);
  if (!config.job_file.empty()) {
    for (const auto& [row, value] : options.all()) {
      result.options.push_back({row->long_name(), value.text, value.source});
    }
  }
  result.config = std::move(config);
  return result;
}

/// The first of the tasks that would form a job shows what each of them would.
inline early_exit shown_once(early_exit exit, const command_line::facts& facts) {
  try {
    const auto tasks = find_node_tasks(facts.environment);
    if (facts.runs_slots && tasks && tasks->obstacle.empty() && !tasks->is_first) exit.text.clear();
  } catch (const error&) {
    // Its variables may be what is refused.
  }
  return exit;
}

}  // namespace detail

ELASTIC_DECL std::variant<command_line, command_line::version_request, early_exit>
parse_command_line(const std::vector<std::string>& arguments, const command_line::facts& facts) {
  try {
    const detail::scanned_arguments scanned = detail::scan_options(arguments);
    if (!scanned.shows) return detail::interpret(scanned, facts);
    if (detail::shows(scanned, "--version")) {
      return command_line::version_request{detail::read_io(facts.environment)};
    }
    early_exit shown{0, detail::text_to_show(scanned, facts), false};
    return detail::shown_once(std::move(shown), facts);
  } catch (const error& refusal) {
    return detail::shown_once(refuse(refusal.what(), facts.program), facts);
  }
}

ELASTIC_DECL command_line::facts gather_command_line_facts() {
  command_line::facts facts;
  facts.environment = environment_from(environ);
  facts.processors = count_processors();
  facts.accelerators = count_accelerators(facts.environment);
  facts.python = default_python();
  facts.python_warning = python_warning(facts.environment, facts.python);
  return facts;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/command_line.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/ring.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/detail/failure_options.hpp>
#include <elastic/launch/detail/node_options.hpp>
#include <elastic/launch/detail/option_readers.hpp>
#include <elastic/launch/detail/option_scan.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/detail/output_options.hpp>
#include <elastic/launch/detail/worker_options.hpp>

#include <fmt/format.h>

namespace elastic {

namespace detail {

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

ELASTIC_DECL std::variant<command_line, version_request, early_exit> parse_command_line(
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

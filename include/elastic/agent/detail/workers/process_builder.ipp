// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/process_builder.hpp>

#include <elastic/agent/detail/workers/program_environment.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/contract/detail/visible_devices.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// A shell that executes the command with the program and its arguments, so that no other process
/// is between them.
inline void wrap_process(process_spec& process, std::string_view command) {
  std::vector<std::string> words = {"-c", fmt::format("exec {} \"$@\"", command), "sh",
                                    std::move(process.program)};
  words.insert(words.end(), process.arguments.begin(), process.arguments.end());
  process.program = "/bin/sh";
  process.arguments = std::move(words);
}

ELASTIC_DECL process_builder::process_builder(const worker_spec& spec,
                                              const worker_channels& channels,
                                              std::shared_ptr<role_link> roles,
                                              const std::shared_ptr<agent_parts>& parts)
    : spec_(spec), channels_(channels), roles_(std::move(roles)), parts_(parts) {}

ELASTIC_DECL process_spec process_builder::make(const worker_identity& identity,
                                                const job_context& job,
                                                const std::string& error_file) const {
  process_spec process;
  process.program = spec_.program;
  const auto slot = static_cast<std::size_t>(identity.local_rank);
  const role_link::port_map ports = roles_ ? roles_->ports(slot) : role_link::port_map();
  process.arguments.reserve(spec_.arguments.size());
  for (const std::string& argument : spec_.arguments) {
    process.arguments.push_back(substitute_ports(argument, identity.local_rank, ports));
  }
  if (spec_.wrap.is_for(identity.rank)) {
    const macro_values macros = macros_of(identity, job);
    wrap_process(process, substitute_macros(spec_.wrap.command, macros));
  }
  process.environment = environment(identity, job, error_file);
  if (spec_.has_slots) process.slot = identity.local_rank;
  process.passed_fd = parts_->passed_descriptor(identity.local_rank);
  if (!spec_.cpu_affinity.empty()) {
    process.processors = spec_.cpu_affinity.at(static_cast<std::size_t>(identity.local_rank));
  }
  process.ignored_signals = spec_.ignored_signals;
  process.directory = spec_.directory;
  process.linger = spec_.linger;
  return process;
}

ELASTIC_DECL environment_map process_builder::changed_variables(const worker_identity& identity,
                                                                const job_context& job) const {
  const environment_map all = environment_from(environment(identity, job, ""));
  environment_map names = environment_from(worker_environment({}, identity, job, ""));
  // A worker that stays keeps its files.
  names.erase("TORCHELASTIC_ERROR_FILE");
  // The other values are the same in every epoch, and may be too long for a message.
  for (const auto& [name, value] : spec_.env) {
    if (changes_by_epoch(value)) names[name] = value;
  }
  parts_->change_environment(identity, names);
  for (auto& [name, value] : names) value = find_variable(all, name).value_or("");
  return names;
}

ELASTIC_DECL std::vector<std::string> process_builder::environment(
    const worker_identity& identity, const job_context& job, const std::string& error_file) const {
  environment_map variables = program_environment(spec_.environment);
  for (const auto& [name, value] : channels_.environment()) {
    // An empty value removes the variable: otherwise the workers would write to a timer file that
    // is not a FIFO.
    if (value.empty()) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
  if (roles_) variables["ELASTIC_ROLES"] = roles_->file();
  parts_->change_environment(identity, variables);
  if (!spec_.env.empty()) {
    const macro_values macros = macros_of(identity, job);
    for (const auto& [name, value] : spec_.env) {
      variables[name] = substitute_macros(value, macros);
    }
  }
  worker_identity shown = identity;
  if (spec_.virtual_local_rank) {
    leave_one_device(variables, identity.local_rank);
    shown.local_rank = 0;
  }
  if (spec_.contract == worker_contract::plain) return environment_entries(variables);
  return worker_environment(std::move(variables), shown, job, error_file);
}

}  // namespace elastic::detail

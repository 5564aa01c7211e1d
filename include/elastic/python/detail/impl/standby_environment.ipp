// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_environment.hpp>

#include <elastic/contract/environment.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// Variables that name an attempt.
inline bool is_of_attempt(std::string_view name) {
  constexpr std::string_view names[] = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT",
                                        "TORCHELASTIC_ERROR_FILE", "ELASTIC_CONTROL",
                                        "ELASTIC_EPOCH", "JAX_COORDINATOR_ADDRESS",
                                        "OMPI_MCA_orte_hnp_uri", "TF_CONFIG"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Variables that may have other values in another attempt.
inline bool may_change(std::string_view name) {
  constexpr std::string_view names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "GROUP_RANK",
                                        "GROUP_WORLD_SIZE",
                                        "ROLE_RANK",
                                        "ROLE_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "TORCHELASTIC_TIMER_FILE",
                                        "NCCL_ASYNC_ERROR_HANDLING",
                                        "TORCH_NCCL_ASYNC_ERROR_HANDLING"};
  return is_of_attempt(name) ||
         std::find(std::begin(names), std::end(names), name) != std::end(names);
}

ELASTIC_DECL std::string standby_key(const process_spec& spec) {
  std::string key;
  const auto add = [&](std::string_view part) {
    key += part;
    key += '\0';
  };
  add(spec.program);
  add(spec.directory);
  add(spec.processors.text());
  add(std::to_string(spec.arguments.size()));
  for (const std::string& argument : spec.arguments) add(argument);
  for (const auto& [name, value] : environment_from(spec.environment)) {
    if (!may_change(name)) add(name + "=" + value);
  }
  return key;
}

ELASTIC_DECL process_spec without_attempt(process_spec spec) {
  environment_map variables = environment_from(spec.environment);
  std::erase_if(variables, [](const auto& entry) { return may_change(entry.first); });
  spec.environment = environment_entries(variables);
  return spec;
}

ELASTIC_DECL std::vector<std::string> standby_environment(const process_spec& spec,
                                                          const standby_task& standby) {
  environment_map variables = environment_from(spec.environment);
  std::erase_if(variables, [](const auto& entry) { return is_of_attempt(entry.first); });
  const auto path = find_variable(variables, "PYTHONPATH");
  // Descriptor 1 of the standby itself, so that it opens the archive without another process.
  std::string& entries = variables["PYTHONPATH"];
  entries = "/proc/self/fd/1";
  if (path && !path->empty()) entries += ":" + *path;
  variables["ELASTIC_STANDBY"] =
      fmt::format("{}:{}:{}:{}:{}:{}:{}:{}", standby.archive_size, standby.runs_script ? 1 : 0,
                  standby.stands_back ? 1 : 0, standby.record.size(), path ? 1 : 0, standby.kind,
                  standby.modules, standby.name);
  return environment_entries(variables);
}

ELASTIC_DECL std::vector<variable_change> standby_changes(const process_spec& source,
                                                          const process_spec& target) {
  environment_map before = environment_from(source.environment);
  std::erase_if(before, [](const auto& entry) { return is_of_attempt(entry.first); });
  const environment_map after = environment_from(target.environment);
  std::vector<variable_change> changes;
  for (const auto& [name, value] : after) {
    if (find_variable(before, name) != value) changes.push_back({name, value});
  }
  for (const auto& [name, value] : before) {
    if (after.count(name) == 0) changes.push_back({name, std::nullopt});
  }
  return changes;
}

}  // namespace elastic::detail

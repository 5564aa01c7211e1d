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

ELASTIC_DECL bool is_of_rank(std::string_view name) {
  constexpr std::string_view names[] = {"LOCAL_RANK", "RANK", "ROLE_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Variables that the interpreter, the loader or libraries read before a standby is ready, which
/// its hook cannot notice.
inline bool is_read_early(std::string_view name) {
  constexpr std::string_view families[] = {"PYTHON", "LD_",      "OMP_",    "GOMP_", "KMP_",
                                           "MKL_",   "OPENBLAS", "MALLOC_", "GLIBC_"};
  return std::any_of(std::begin(families), std::end(families),
                     [&](std::string_view family) { return name.starts_with(family); });
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

/// The fields of a process_spec that identify a start, with the variables that `is_part` accepts.
template <class Predicate>
std::string joined_start(const process_spec& spec, const std::string& processors,
                         const Predicate& is_part) {
  std::string key;
  const auto add = [&](std::string_view part) {
    key += part;
    key += '\0';
  };
  add(spec.program);
  add(spec.directory);
  add(processors);
  add(std::to_string(spec.arguments.size()));
  for (const std::string& argument : spec.arguments) add(argument);
  for (const auto& [name, value] : environment_from(spec.environment)) {
    if (is_part(name)) add(name + "=" + value);
  }
  return key;
}

ELASTIC_DECL std::string standby_key(const process_spec& spec) {
  return joined_start(spec, spec.processors.text(),
                      [](const std::string& name) { return !may_change(name); });
}

/// Libraries create one thread per processor, so only the number of processors must be the same.
ELASTIC_DECL std::string pool_key(const process_spec& spec, const std::set<std::string>& by_rank) {
  const std::string place = fmt::format("{} {}", spec.processors.size(), spec.slot);
  return joined_start(spec, place, [&](const std::string& name) {
    return !may_change(name) && !is_of_rank(name) && by_rank.count(name) == 0;
  });
}

ELASTIC_DECL std::set<std::string> differing_variables(const process_spec& one,
                                                       const process_spec& other) {
  std::set<std::string> names;
  const environment_map left = environment_from(one.environment);
  const environment_map right = environment_from(other.environment);
  const auto add_differing = [&](const environment_map& these, const environment_map& those) {
    for (const auto& [name, value] : these) {
      if (may_change(name) || is_of_rank(name) || is_read_early(name)) continue;
      if (find_variable(those, name) != value) names.insert(name);
    }
  };
  add_differing(left, right);
  add_differing(right, left);
  return names;
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
  // The archive is descriptor 1 of the standby, which opens it without help from another process.
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

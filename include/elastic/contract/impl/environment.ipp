// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline void add_variable(environment_map& variables, std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
}

}  // namespace detail

ELASTIC_DECL environment_map environment_from(const char* const* entries) {
  environment_map variables;
  for (; entries && *entries; ++entries) detail::add_variable(variables, *entries);
  return variables;
}

ELASTIC_DECL environment_map environment_from(const std::vector<std::string>& entries) {
  environment_map variables;
  for (const std::string& entry : entries) detail::add_variable(variables, entry);
  return variables;
}

ELASTIC_DECL std::vector<std::string> environment_entries(const environment_map& variables) {
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    std::string& entry = entries.emplace_back();
    entry.reserve(name.size() + 1 + value.size());
    entry.append(name).append("=").append(value);
  }
  return entries;
}

ELASTIC_DECL std::optional<std::string> find_variable(const environment_map& variables,
                                                      std::string_view name) {
  const auto entry = variables.find(name);
  if (entry == variables.end()) return std::nullopt;
  return entry->second;
}

namespace detail {

inline void set_job_variables(environment_map& variables, const job_context& job) {
  variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(job.restart_count);
  variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.max_restarts);
  variables["TORCHELASTIC_RUN_ID"] = job.run_id;
}

inline void set_world_variables(environment_map& variables, const worker_identity& worker,
                                const job_context& job) {
  variables["RANK"] = std::to_string(worker.rank);
  variables["WORLD_SIZE"] = std::to_string(worker.world_size);
  variables["GROUP_RANK"] = std::to_string(worker.group_rank);
  variables["GROUP_WORLD_SIZE"] = std::to_string(worker.group_world_size);
  variables["MASTER_ADDR"] = job.master_addr;
  variables["MASTER_PORT"] = std::to_string(job.master_port);
  // Python's spelling of a bool: workers compare with "True".
  variables["TORCHELASTIC_USE_AGENT_STORE"] = job.use_agent_store ? "True" : "False";
  if (job.old_nccl_name) variables.emplace("NCCL_ASYNC_ERROR_HANDLING", "1");
  variables.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  if (!job.epoch) return;
  variables["ELASTIC_EPOCH"] = std::to_string(*job.epoch);
  variables["ELASTIC_ON_FAILURE"] = "replace";
}

/// Removes variables that this launcher may have inherited from an enclosing launcher.
inline void remove_world_variables(environment_map& variables) {
  for (const char* const name : {"RANK", "WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
                                 "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"}) {
    variables.erase(name);
  }
}

inline void set_identity_variables(environment_map& variables, const worker_identity& worker) {
  variables["LOCAL_RANK"] = std::to_string(worker.local_rank);
  variables["ROLE_RANK"] = std::to_string(worker.role_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(worker.local_world_size);
  variables["ROLE_WORLD_SIZE"] = std::to_string(worker.role_world_size);
  variables["ROLE_NAME"] = worker.role_name;
}

/// The entries of variables that nobody needs any more: a value that has room for the name before
/// it takes no other memory.
inline std::vector<std::string> take_entries(environment_map variables) {
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (auto& [name, value] : variables) {
    entries.push_back(std::move(value.insert(0, 1, '=').insert(0, name)));
  }
  return entries;
}

}  // namespace detail

ELASTIC_DECL std::vector<std::string> worker_environment(environment_map base,
                                                         const worker_identity& worker,
                                                         const job_context& job,
                                                         const std::string& error_file) {
  detail::set_job_variables(base, job);
  detail::set_identity_variables(base, worker);
  if (job.has_world) {
    detail::set_world_variables(base, worker, job);
  } else {
    detail::remove_world_variables(base);
  }
  base["TORCHELASTIC_ERROR_FILE"] = error_file;
  return detail::take_entries(std::move(base));
}

ELASTIC_DECL bool is_set_by_agent(const std::string& name) {
  const std::string value = "a value that no agent sets";
  const std::vector<std::string> entries =
      worker_environment({{name, value}}, worker_identity(), job_context(), "");
  return std::find(entries.begin(), entries.end(), name + "=" + value) == entries.end();
}

ELASTIC_DECL std::optional<std::string> limit_omp_threads(environment_map& variables,
                                                          int local_world_size) {
  if (local_world_size <= 1 || variables.count("OMP_NUM_THREADS") > 0) return std::nullopt;
  variables["OMP_NUM_THREADS"] = "1";
  return fmt::format(
      "OMP_NUM_THREADS is not set: each of the {} workers gets 1, so that together they do not "
      "overload this host; set it to choose another number of threads",
      local_world_size);
}

}  // namespace elastic

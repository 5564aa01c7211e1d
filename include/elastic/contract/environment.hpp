// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// Environment variables by name.
using environment_map = std::map<std::string, std::string, std::less<>>;

/// The variables of an array such as `environ`, whose end is a null pointer. Each entry is
/// "NAME=value"; other entries are ignored. If a name is repeated, the first counts, as with
/// `getenv`.
ELASTIC_DECL environment_map environment_from(const char* const* entries);

/// The same for entries in a vector.
ELASTIC_DECL environment_map environment_from(const std::vector<std::string>& entries);

/// Each variable as "NAME=value", in the order of their names.
ELASTIC_DECL std::vector<std::string> environment_entries(const environment_map& variables);

/// The value of a variable; empty if it is not set.
ELASTIC_DECL std::optional<std::string> find_variable(const environment_map& variables,
                                                      std::string_view name);

/// The identity of a worker: its ranks on its node, in its role and in the job.
struct worker_identity {
  /// 0 … local_world_size - 1, on this node.
  int local_rank = 0;
  /// 0 … world_size - 1, in the job.
  int rank = 0;
  /// The node's rank in the round, 0 … group_world_size - 1.
  int group_rank = 0;
  /// 0 … role_world_size - 1, among the workers of this role.
  int role_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  int group_world_size = 1;
  int role_world_size = 1;
  std::string role_name = "default";
};

/// The settings that the workers of one attempt on one node share.
struct job_context {
  /// True: the workers have ranks in one world and connect to each other. False: they are replicas,
  /// which know only their ranks on their node and in their role: ROLE_RANK is set, RANK and
  /// MASTER_ADDR are not.
  bool has_world = true;
  /// The address at which the workers find each other.
  std::string master_addr;
  std::uint16_t master_port = 0;
  /// True: an agent serves a store at the master's address and every worker is its client. False:
  /// the worker of rank 0 serves.
  bool use_agent_store = false;
  std::string run_id;
  /// How many of the `max_restarts` have been used.
  int restart_count = 0;
  int max_restarts = 0;
  /// Whether the workers use a PyTorch older than 2.2, which reads NCCL_ASYNC_ERROR_HANDLING. Later
  /// releases warn about that name on each rank.
  bool old_nccl_name = false;
  /// If workers may outlive an epoch (`worker_spec::on_failure`): the number of this epoch. Empty:
  /// every worker ends with its epoch.
  std::optional<std::int64_t> epoch = {};
};

/// The whole environment of a worker, each entry "NAME=value": `base`, overridden by everything
/// that an agent promises to its workers.
///
/// `error_file` is the file for the reason of the worker's failure; empty if there is none. `base`
/// reaches the worker unchanged otherwise (CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS,
/// TORCHELASTIC_TIMER_FILE, NCCL's settings, …).
ELASTIC_DECL std::vector<std::string> worker_environment(environment_map base,
                                                         const worker_identity& worker,
                                                         const job_context& job,
                                                         const std::string& error_file);

/// Whether `worker_environment` always sets this variable, such as RANK.
ELASTIC_DECL bool is_set_by_agent(const std::string& name);

/// torchrun's rule for OMP_NUM_THREADS: if it is not set and a node has more than one worker, it is
/// set to 1, since otherwise each worker would start as many threads as there are processors.
///
/// Result: the warning to show if the rule applied and changed `variables`.
ELASTIC_DECL std::optional<std::string> limit_omp_threads(environment_map& variables,
                                                          int local_world_size);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/environment.ipp>
#endif

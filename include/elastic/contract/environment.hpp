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
/// "NAME=value"; one that is not is left out; of a repeated name the first counts, as for `getenv`.
ELASTIC_DECL environment_map environment_from(const char* const* entries);

/// The same for entries in a vector.
ELASTIC_DECL environment_map environment_from(const std::vector<std::string>& entries);

/// Each variable as "NAME=value", in the order of their names.
ELASTIC_DECL std::vector<std::string> environment_entries(const environment_map& variables);

/// The value of a variable; empty if it is not set.
ELASTIC_DECL std::optional<std::string> find_variable(const environment_map& variables,
                                                      std::string_view name);

/// Who a worker is: its place on its node, in its role and in the job.
struct worker_identity {
  /// 0 … local_world_size - 1, on this node.
  int local_rank = 0;
  /// 0 … world_size - 1, in the job.
  int rank = 0;
  /// The node's place in the round, 0 … group_world_size - 1.
  int group_rank = 0;
  /// 0 … role_world_size - 1, among the workers of this role.
  int role_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  int group_world_size = 1;
  int role_world_size = 1;
  std::string role_name = "default";
};

/// What all workers of one start on one node have in common.
struct job_context {
  /// Where the workers find each other.
  std::string master_addr;
  std::uint16_t master_port = 0;
  /// True: an agent serves a store at the master's address and every worker is its client. False:
  /// the worker of rank 0 serves.
  bool use_agent_store = false;
  std::string run_id;
  /// How many of `max_restarts` are used up.
  int restart_count = 0;
  int max_restarts = 0;
  /// The workers are of a PyTorch before 2.2, which reads NCCL_ASYNC_ERROR_HANDLING; later ones
  /// call that name deprecated on each rank.
  bool old_nccl_name = false;
  /// Where workers may outlive an epoch (`worker_spec::on_failure`): the number of this one. None:
  /// every worker ends with its epoch.
  std::optional<std::int64_t> epoch = {};
};

/// The whole environment of a worker, each entry "NAME=value": `base` and, instead of what it says
/// under the same names, everything that an agent promises to its workers.
///
/// `error_file` is where the worker leaves the reason of its failure; empty if nobody reads it.
/// `base` reaches the worker unchanged otherwise (CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS,
/// TORCHELASTIC_TIMER_FILE, NCCL's settings, …).
ELASTIC_DECL std::vector<std::string> worker_environment(environment_map base,
                                                         const worker_identity& worker,
                                                         const job_context& job,
                                                         const std::string& error_file);

/// Whether `worker_environment` sets this variable whatever its base has, such as RANK.
ELASTIC_DECL bool is_set_by_agent(const std::string& name);

/// torchrun's rule for OMP_NUM_THREADS: if it is not set and a node has more than one worker,
/// it becomes 1, since each worker would otherwise start as many threads as there are processors.
///
/// Result: the warning to show if the rule applied and changed `variables`.
ELASTIC_DECL std::optional<std::string> limit_omp_threads(environment_map& variables,
                                                          int local_world_size);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/environment.ipp>
#endif

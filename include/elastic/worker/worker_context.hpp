// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>

namespace elastic {

/// The information that a worker gets from its agent: its ranks (`rank`, `world_size`,
/// `local_rank`, …), the job (`master_addr`, `master_port`, `run_id`, `restart_count`, …) and where
/// to report a failure.
struct worker_context : worker_identity, job_context {
  /// The file for the reason of a failure (see `record`); empty if there is none.
  std::string error_file;

  // Declared, so that this is not an aggregate: g++ 12 destroys a braced aggregate twice if it is
  // an argument of a call that is awaited.
  worker_context() = default;
};

/// Parses the environment of a worker, as set by elasticrun or torchrun. A replica has no world
/// (`has_world`): it is rank 0 of a world of one, and `role_rank` tells it from the others.
///
/// Errors: `errc::invalid_argument` if a variable is missing, not a number, or out of bounds (a
/// rank must be less than its world size); the message names the variable and says what is allowed.
ELASTIC_DECL worker_context worker_context_from(const environment_map& variables);

/// The same for the environment of this process.
ELASTIC_DECL worker_context this_worker();

/// Whether this process was started as a worker: RANK is set, or ROLE_RANK as for replicas. A
/// program that can also run by hand, as a single process, calls this first.
ELASTIC_DECL bool is_worker();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/worker_context.ipp>
#endif

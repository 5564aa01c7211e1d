// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_group.hpp>
#include <elastic/base/config.hpp>
#include <elastic/process/exit_status.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// "ended by signal 9 (SIGKILL)", "ended with exit code 1".
ELASTIC_DECL std::string end_clause(const exit_status& status);

/// The log line of an agent that replaces ranks.
/// @param failed    the workers of this node that failed by themselves; may be empty
/// @param change    why the round ended, as a clause
/// @param decision  the clause of the restart decision: "restart 1 of 3"
ELASTIC_DECL std::string replacement_line(const std::vector<const worker_group::worker*>& failed,
                                          const std::string& change, const std::string& decision);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/replacement_line.ipp>
#endif

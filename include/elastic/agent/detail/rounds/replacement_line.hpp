// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_group.hpp>
#include <elastic/process/exit_status.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// "ended by signal 9 (SIGKILL)", "ended with exit code 1".
inline std::string end_clause(const exit_status& status) {
  if (const auto code = status.code()) return fmt::format("ended with exit code {}", *code);
  const auto number = status.signal();
  if (!number) return "ended: " + status.text();
  const std::string name = signal_name(*number);
  std::string clause = fmt::format("ended by signal {}", *number);
  // The name of an unnamed signal only repeats its number.
  if (name.starts_with("SIG")) clause += fmt::format(" ({})", name);
  return status.has_dumped_core() ? clause + ", core dumped" : clause;
}

inline std::string failure_clause(const worker_group::worker& failed) {
  const std::string who = fmt::format("rank {} (local rank {}, pid {})", failed.identity.rank,
                                      failed.identity.local_rank, failed.pid);
  if (!failed.hung.empty()) return fmt::format("{} was hung: {}", who, failed.hung);
  return failed.end ? fmt::format("{} {}", who, end_clause(failed.end->status)) : who + " failed";
}

/// The log line of an agent that replaces ranks.
/// @param failed    the workers of this node that failed by themselves; may be empty
/// @param change  the reason why the round ended, as a clause
/// @param decision  the clause of the restart decision: "restart 1 of 3"
inline std::string replacement_line(const std::vector<const worker_group::worker*>& failed,
                                    const std::string& change, const std::string& decision) {
  if (failed.empty()) {
    return fmt::format("{}; the workers of this node keep their processes: {}", change, decision);
  }
  constexpr std::size_t most_clauses = 8;
  std::string line;
  for (std::size_t index = 0; index < failed.size() && index < most_clauses; ++index) {
    line += (index == 0 ? "" : ", ") + failure_clause(*failed[index]);
  }
  if (failed.size() > most_clauses) {
    line += fmt::format(" and {} more", failed.size() - most_clauses);
  }
  return fmt::format("{}; replacing {}, the others keep their processes: {}", line,
                     failed.size() == 1 ? "it" : "them", decision);
}

}  // namespace elastic::detail

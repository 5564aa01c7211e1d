// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace elasticrun {

/// An agent that ended without a word, such as by SIGKILL, as its journal shows.
struct lost_agent {
  pid_t pid = 0;
  /// Of its last record, since 1970.
  std::chrono::microseconds last_time{};
  /// False: it may run where this process cannot see it.
  bool is_certain = true;

  /// "The agent (pid 12) is gone, and was last seen at …: " and what the caller says of it.
  std::string sentence(const std::string& rest) const;
};

/// What this process sees of an agent of its host.
struct agent_traces {
  /// Its process.
  bool is_running = false;
  /// Whether a process of this host writes its journal, in whatever namespace. Empty: the file
  /// system of the journal cannot say.
  std::optional<bool> is_writing;
  /// Whether this process sees the processes of the whole host.
  bool are_all_visible = true;
};

/// Empty: the agent runs. Otherwise, whether it is certain that it does not.
std::optional<bool> loss_of(const agent_traces& seen);

/// Looks for the agent that began last in a journal.
/// @param path  of the journal
/// Result: empty if it runs, or if it ran on another host. Whether the job has ended in order is
/// for the caller to see.
std::optional<lost_agent> find_lost_agent(const elastic::detail::journal_contents& journal,
                                          const std::string& path);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace elasticrun {

/// An agent that ended without recording it, for example by SIGKILL, according to its journal.
struct lost_agent {
  pid_t pid = 0;
  /// The time of its last record, since 1970.
  std::chrono::microseconds last_time{};
  /// False: it may run where this process cannot see it.
  bool is_certain = true;

  /// "The agent (pid 12) is gone, and was last seen at …: ", followed by `rest`.
  std::string sentence(const std::string& rest) const;
};

/// The traces of an agent of this host that this process can see.
struct agent_traces {
  /// Whether its process runs.
  bool is_running = false;
  /// Whether a process of this host, in any namespace, writes its journal. Empty: the file system
  /// of the journal cannot tell.
  std::optional<bool> is_writing;
  /// Whether this process sees the processes of the whole host.
  bool are_all_visible = true;
};

/// Whether the agent is lost for certain; empty if it runs.
std::optional<bool> loss_of(const agent_traces& seen);

/// Looks for the agent that began last in a journal.
/// @param path  of the journal
/// Result: empty if it runs, or if it ran on another host. The caller checks whether the job has
/// ended in order.
std::optional<lost_agent> find_lost_agent(const elastic::detail::journal_contents& journal,
                                          const std::string& path);

}  // namespace elasticrun

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

  /// "The agent (pid 12) is gone, and was last seen at …: " and what the caller says of it.
  std::string sentence(const std::string& rest) const;
};

/// Looks for the agent that began last in a journal.
/// Result: empty if it runs, or if that cannot be seen on this host. Whether the job has ended in
/// order is for the caller to see.
std::optional<lost_agent> find_lost_agent(const elastic::detail::journal_contents& journal);

}  // namespace elasticrun

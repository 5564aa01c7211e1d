// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/tree_usage.hpp>

#include <elastic/process/detail/process_tree.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace elastic::detail {

inline duration time_of_ticks(std::uint64_t ticks) {
  static const long per_second = std::max(::sysconf(_SC_CLK_TCK), 1L);
  const double seconds = static_cast<double>(ticks) / static_cast<double>(per_second);
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

ELASTIC_DECL std::optional<tree_usage> look_at_tree(pid_t root, std::size_t most_files) {
  tree_usage usage;
  std::uint64_t ticks = 0;
  std::size_t files = 0;
  // `tree` grows during the loop. Processes that vanish meanwhile are skipped.
  std::vector<pid_t> tree{root};
  for (std::size_t next = 0; next < tree.size(); ++next) {
    if (files >= most_files) {
      usage.is_cut = true;
      break;
    }
    ++files;
    const std::optional<process_entry> entry = read_process(tree[next]);
    if (!entry || entry->dead()) continue;
    ++usage.processes;
    ticks += entry->processor_ticks;
    if (entry->state == 'T' || entry->state == 't') usage.stopped = entry->pid;
    if (entry->state == 'D') usage.blocked = entry->pid;
    const auto threads = static_cast<std::size_t>(std::max(entry->threads, 1));
    if (threads > most_files - files) {
      usage.is_cut = true;
      continue;
    }
    files += threads;
    const std::vector<pid_t> children = read_children(entry->pid);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  if (usage.processes == 0) return std::nullopt;
  usage.processor_time = time_of_ticks(ticks);
  return usage;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <cstddef>
#include <optional>

namespace elastic::detail {

/// The processor time of a process and its descendants, and their state.
struct tree_usage {
  /// Processor time so far, including that of ended processes that were waited for. It may decrease
  /// when a process ends that nobody waits for.
  duration processor_time{};
  std::size_t processes = 0;
  /// A process that a signal or a debugger has stopped, and one in uninterruptible sleep; 0: none.
  pid_t stopped = 0;
  pid_t blocked = 0;
  /// The tree has more processes than were inspected.
  bool is_cut = false;
};

/// Inspects a process and its descendants; needs no privilege over them. Takes about 10 µs for each
/// process and 5 µs for each thread.
///
/// @param most_files  roughly how many files of /proc may be read: one for each process and thread
/// Result: empty if there is no such process, it has ended, or /proc does not show it.
ELASTIC_DECL std::optional<tree_usage> look_at_tree(pid_t root, std::size_t most_files);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/tree_usage.ipp>
#endif

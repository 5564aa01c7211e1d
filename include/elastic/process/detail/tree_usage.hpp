// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <cstddef>
#include <optional>

namespace elastic::detail {

/// What a process and its descendants have used, and what they are at.
struct tree_usage {
  /// Processor time so far, of those that have ended, too, if somebody has waited for them. It may
  /// go back, when one ends for which nobody has.
  duration processor_time{};
  std::size_t processes = 0;
  /// One that a signal or a debugger has stopped, and one in uninterruptible sleep; 0: none.
  pid_t stopped = 0;
  pid_t blocked = 0;
  /// There are more of them than were to be looked at.
  bool is_cut = false;
};

/// Looks at a process and its descendants, without any right over them. Costs some 10 µs for each
/// process and 5 µs for each thread.
///
/// @param most_files  how many files of /proc are read, about: one for each process and thread
/// Result: empty if there is no such process, it has ended, or /proc does not show it.
ELASTIC_DECL std::optional<tree_usage> look_at_tree(pid_t root, std::size_t most_files);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/tree_usage.ipp>
#endif

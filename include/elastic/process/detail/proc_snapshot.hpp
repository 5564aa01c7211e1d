// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// The state of a process that was killed and has not ended yet.
struct proc_snapshot {
  /// The state of a thread in uninterruptible sleep ('D'), if there is one; else of the first
  /// thread.
  char state = '?';
  /// The kernel function in which that thread waits; empty if the kernel does not say.
  std::string waits_in;
  /// Memory that the kernel has not reclaimed yet, in kB.
  std::uint64_t resident = 0;
  bool dumps_core = false;

  /// "in uninterruptible sleep (nfs_wait_bit_killable)".
  ELASTIC_DECL std::string text() const;

  friend bool operator==(const proc_snapshot&, const proc_snapshot&) = default;
};

/// Whether a killed process made no progress between two snapshots, so that it may never end: a
/// device or a file server does not answer. A process that frees memory or writes its core makes
/// progress.
ELASTIC_DECL bool is_stuck(const proc_snapshot& before, const proc_snapshot& now);

/// Takes a snapshot of a process; needs no privilege over it. Empty if there is no such process, or
/// it has ended.
ELASTIC_DECL std::optional<proc_snapshot> look_at_process(pid_t pid);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/proc_snapshot.ipp>
#endif

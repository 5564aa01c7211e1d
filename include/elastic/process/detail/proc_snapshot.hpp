// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// How a process looks that was killed and has not ended yet.
struct proc_snapshot {
  /// That of a thread in uninterruptible sleep ('D'), if it has one; else of the first.
  char state = '?';
  /// The function of the kernel in which that thread waits; empty if the kernel does not say.
  std::string waits_in;
  /// Memory that the kernel has yet to take back, in kB.
  std::uint64_t resident = 0;
  bool dumps_core = false;

  /// "in uninterruptible sleep (nfs_wait_bit_killable)".
  ELASTIC_DECL std::string text() const;

  friend bool operator==(const proc_snapshot&, const proc_snapshot&) = default;
};

/// Whether nothing went on between two looks at a process that was killed, so that nobody can say
/// whether it ever ends: a device or a file server does not answer. One that gives back memory or
/// writes its core takes its time.
ELASTIC_DECL bool is_stuck(const proc_snapshot& before, const proc_snapshot& now);

ELASTIC_DECL std::string text_of(const std::string& path);

/// Looks at a process, without any right over it. Empty if there is none, or it has ended.
ELASTIC_DECL std::optional<proc_snapshot> look_at_process(pid_t pid);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/proc_snapshot.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/types.h>

namespace elastic::detail {

/// A process that someone else starts and waits for, held by its pidfd: the kernel may reuse its
/// pid, but the handle never refers to another process.
///
/// Thread-safety: any thread.
class process_handle {
 public:
  /// @param pid  a process that has not been waited for yet
  ELASTIC_DECL explicit process_handle(pid_t pid);

  pid_t pid() const { return pid_; }

  /// Whether it has not ended.
  ELASTIC_DECL bool is_running() const;

  /// Sends a signal to the process, but not to its group.
  /// Result: whether it was sent.
  ELASTIC_DECL bool signal(int number) const;

  /// Sends a signal to the main thread, so that this thread handles it. A pidfd cannot do that
  /// before Linux 6.9, so call it only while nobody has waited for the process.
  /// Result: whether it was sent.
  ELASTIC_DECL bool signal_main_thread(int number) const;

 private:
  pid_t pid_;
  unique_fd pidfd_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/process_handle.ipp>
#endif

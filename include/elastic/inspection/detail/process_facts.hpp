// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// A thread as /proc shows it.
struct thread_facts {
  pid_t id = 0;
  std::string name;
  process_state state = process_state::unknown;
  /// The function of the kernel in which it waits; empty: none, or this user may not know.
  std::string wait_channel;
  /// The number of the system call in which it is; none if it is in none or nobody may know.
  std::optional<long> system_call;
};

/// A process as /proc shows it, without the process's help.
struct process_facts {
  /// The first is the main thread.
  std::vector<thread_facts> threads;
  /// There are more threads than were looked at.
  bool is_cut = false;
  /// Processor time so far, of all its threads and of its children, such as a loader's processes;
  /// none: there are too many of them.
  std::optional<duration> processor_time = {};
};

/// Reads the facts of a process. It does not wait for the process, whatever state that is in.
/// @param most_threads  how many threads are looked at
/// Result: empty if it has ended.
ELASTIC_DECL std::optional<process_facts> read_process_facts(pid_t pid, std::size_t most_threads);

/// The signals that wait for a process or its main thread, or that this thread blocks, as a mask:
/// while a thread handles a signal it blocks it.
/// Result: empty if it has ended.
ELASTIC_DECL std::optional<std::uint64_t> unsettled_signals(pid_t pid);

/// What the main thread of a process does. Result: `unknown` if it has ended.
ELASTIC_DECL process_state main_thread_state(pid_t pid);

/// For how long the main thread of a process has run on a processor. Result: 0 if it has ended.
ELASTIC_DECL duration main_thread_time(pid_t pid);

/// Whether a process has a descriptor of this pipe. @param inode  that of the pipe
ELASTIC_DECL bool has_pipe(pid_t pid, ino_t inode);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/process_facts.ipp>
#endif

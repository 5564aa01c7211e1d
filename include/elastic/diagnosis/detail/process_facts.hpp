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
  /// The kernel function in which it waits; empty: none, or hidden from this user.
  std::string wait_channel;
  /// The number of its current system call; empty: none, or hidden from this user.
  std::optional<long> system_call;
};

/// A process as /proc shows it, without the process's help.
struct process_facts {
  /// The first is the main thread.
  std::vector<thread_facts> threads;
  /// The process has more threads than were read.
  bool is_cut = false;
  /// Processor time so far, of all its threads and of its children, such as a loader's processes;
  /// empty: there are too many of them.
  std::optional<duration> processor_time = {};
};

/// Reads the facts of a process, without waiting for it in any state.
/// @param most_threads  how many threads to read
/// Result: empty if the process has ended.
ELASTIC_DECL std::optional<process_facts> read_process_facts(pid_t pid, std::size_t most_threads);

/// A mask of the signals that are pending for a process or its main thread, or that the main thread
/// blocks: a thread blocks a signal while it handles it.
/// Result: empty if the process has ended.
ELASTIC_DECL std::optional<std::uint64_t> unsettled_signals(pid_t pid);

/// The state of the main thread of a process. Result: `unknown` if it has ended.
ELASTIC_DECL process_state main_thread_state(pid_t pid);

/// The processor time of the main thread of a process. Result: 0 if it has ended.
ELASTIC_DECL duration main_thread_time(pid_t pid);

/// Whether a process has this pipe open. @param inode the pipe's inode
ELASTIC_DECL bool has_pipe(pid_t pid, ino_t inode);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/process_facts.ipp>
#endif

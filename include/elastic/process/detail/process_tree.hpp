// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/process/detail/guard_protocol.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// One line of the machine's process table.
struct process_entry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  /// 'R', 'S', 'D', 'T', 'Z', … as in `ps`.
  char state = '?';
  int threads = 1;
  /// In ticks since the machine booted. Together, pid and start time identify a process for good.
  std::uint64_t start_time = 0;
  /// Processor time of all its threads and of the children that it has waited for, in ticks.
  std::uint64_t processor_ticks = 0;

  /// Whether it has ended and only waits to be reaped. (A process of which only the first thread
  /// has ended looks the same, except for its number of threads.)
  bool dead() const { return (state == 'Z' || state == 'X' || state == 'x') && threads <= 1; }

  friend bool operator==(const process_entry&, const process_entry&) = default;
};

/// Reads the text of `/proc/<pid>/stat`; empty if it is not one.
///
/// The name in it may contain anything, even blanks, parentheses and line ends: it ends at the
/// *last* closing parenthesis.
ELASTIC_DECL std::optional<process_entry> parse_process_stat(std::string_view text);

/// The processes of `processes` that belong to a tree, parents before their children: the members
/// of the session `session`, those in `roots`, and the descendants of both. Processes that have
/// ended are left out.
ELASTIC_DECL std::vector<process_entry> select_tree(const std::vector<process_entry>& processes,
                                                    pid_t session, const std::vector<pid_t>& roots);

/// One process of this machine; empty if no process has that number.
ELASTIC_DECL std::optional<process_entry> read_process(pid_t pid);

/// All processes that this user can see. Takes about 10 µs for each.
ELASTIC_DECL std::vector<process_entry> read_processes();

/// The kind of helper that a process is, according to its command line; empty: none.
ELASTIC_DECL std::optional<guard_helper> kind_of_helper(pid_t pid);

/// How long a helper may take to end when the other processes of its tree have ended.
inline std::chrono::milliseconds patience_with(guard_helper kind) {
  return std::chrono::milliseconds(guard_helper_patience[static_cast<int>(kind)]);
}

/// The text of /proc/<pid>/cmdline for a log: blanks between the arguments, control characters
/// escaped, and cut off after `limits::shown_command_bytes`.
ELASTIC_DECL std::string shown_command(std::string_view text);
ELASTIC_DECL std::string shown_command_of(pid_t pid);

/// The children of all threads of a process. Also empty if the kernel keeps no such list
/// (CONFIG_PROC_CHILDREN). Takes about 10 µs, plus 5 µs for each thread.
ELASTIC_DECL std::vector<pid_t> read_children(pid_t pid);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/process_tree.ipp>
#endif

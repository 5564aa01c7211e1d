// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The messages between an agent and a guard. The guard links no library, so this file contains only
// types and constants.

namespace elastic::detail {

/// The reports of a guard, in the order in which they can occur.
enum class guard_news : int {
  /// The worker was executed; `value` is its pid, and its pidfd is attached if the kernel gives
  /// one. `stage` is `hold` if the guard cannot hold processes that leave the worker's tree.
  started = 1,
  /// The start failed; `value` is the `errno`, `stage` the step. The guard ends.
  not_started = 2,
  /// The worker has ended; `value` is its status as `wait4` returns it.
  ended = 3,
  /// A process of the tree cannot be killed, such as a setuid program; `value` is its pid.
  stuck = 4,
  /// No process of the tree is left, and the guard ends; or, if `value` is not 0, only managers of
  /// shared memory are left, and the guard ends when they have.
  empty = 5,
  /// A process that the worker left behind is killed; `value` is its pid and `command` its command
  /// line. After `guard_named` of these, one with the pid 0 says that there are more.
  killed = 6,
};

/// The steps of starting the worker; `hold`: the system calls that the guard itself needs.
enum class guard_stage : int { fork, session, parent_death, execute, hold };

/// How many killed processes a guard names, and how much of their command lines it sends.
inline constexpr int guard_named = 8;
inline constexpr int guard_shown_bytes = 96;

/// Only `size` bytes of `command` are sent.
struct guard_message {
  guard_news news;
  int value;
  guard_stage stage;
  int size;
  char command[guard_shown_bytes];
};

/// The descriptors that a guard inherits.
inline constexpr int guard_socket = 3;
inline constexpr int guard_agent = 4;

/// A byte that tells the guard to end the tree; it is not a signal number.
inline constexpr unsigned char guard_end_tree = 255;

/// Helpers clean up after their processes and then end by themselves: they unlink shared memory.
/// They are recognised by a mark in their command line.
enum class guard_helper : int {
  /// Python's tracker of resources or of semaphores, or that of multiprocess or loky. It unlinks
  /// names that the next attempt may use again.
  tracker,
  /// The manager of PyTorch's sharing strategy "file_system". It waits 2 s for a new client before
  /// it ends. Its names are never used again, so no other process needs to wait for it.
  manager,
};
inline constexpr int guard_helpers = 2;
inline constexpr char guard_helper_marks[guard_helpers][24] = {"_tracker import main",
                                                               "torch_shm_manager"};

/// The time, in ms, that a helper may take to end after the other processes of the tree.
inline constexpr int guard_helper_patience[guard_helpers] = {500, 2500};

/// How often a guard spares helpers while others end.
inline constexpr int guard_looks = 4096;

/// How much of a command line is searched for a mark.
inline constexpr int guard_command_bytes = 1024;

/// The guard's first argument: the protocol version. A guard refuses any other version.
inline constexpr char guard_version[] = "elastic-guard-3";

/// The second argument: whether the worker starts even if the guard cannot hold processes that
/// leave its tree. The third is the time, in ms, for which processes that the worker leaves behind
/// may linger.
inline constexpr char guard_must_hold[] = "required";
inline constexpr char guard_may_fail[] = "best-effort";

}  // namespace elastic::detail

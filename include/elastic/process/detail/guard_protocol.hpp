// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The messages between an agent and a guard. The guard has no library: no more than types here.

namespace elastic::detail {

/// What a guard tells, in the order in which it can.
enum class guard_news : int {
  /// The worker was executed; `value` is its pid, and its pidfd is attached if the kernel gives
  /// one. `stage` is `hold` if what leaves the worker's tree is not held.
  started = 1,
  /// It could not be; `value` is the error's number, `stage` the step. The guard ends.
  not_started = 2,
  /// The worker has ended; `value` is its status as `wait4` tells it.
  ended = 3,
  /// A process of the tree cannot be killed, such as a setuid program; `value` is its pid.
  stuck = 4,
  /// Nothing of the tree is left. The guard ends.
  empty = 5,
};

/// The steps by which the worker is started; `hold`: what the guard itself needs of the kernel.
enum class guard_stage : int { fork, session, parent_death, execute, hold };

struct guard_message {
  guard_news news;
  int value;
  guard_stage stage;
};

/// Descriptors that a guard is started with.
inline constexpr int guard_socket = 3;
inline constexpr int guard_agent = 4;

/// A byte to a guard that is no signal number: end the tree.
inline constexpr unsigned char guard_end_tree = 255;

/// The first argument of a guard of this form of the protocol: of another it refuses to work.
inline constexpr char guard_version[] = "elastic-guard-2";

/// The second argument: whether the worker is started although what leaves its tree is not held.
inline constexpr char guard_must_hold[] = "required";
inline constexpr char guard_may_fail[] = "best-effort";

}  // namespace elastic::detail

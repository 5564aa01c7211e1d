// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// How the workers that run a function come to be.
enum class start_method {
  /// A new process of the same program, whose main finds the function by its name. Always safe.
  spawn,
  /// A copy of this process, as it is at each start, in which the function runs at once. Only if
  /// this process has one thread; see `fork_launcher` for what the function may use there. It has
  /// no guard.
  fork,
};

}  // namespace elastic

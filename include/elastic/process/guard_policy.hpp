// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// Whether each worker has a guard: a tiny process that kills all processes that the worker leaves
/// behind, when the worker ends, on request, or when this program ends.
enum class guard_policy {
  /// Each worker has a guard; if that is not possible, no worker starts.
  required,
  /// Each worker has a guard if possible; otherwise a single log line says what protection is
  /// missing. A named guard file that cannot be executed is still an error.
  best_effort,
  /// No worker has a guard.
  none,
};

}  // namespace elastic

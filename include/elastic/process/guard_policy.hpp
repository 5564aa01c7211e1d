// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// Whether each worker is started behind a guard: a tiny process that ends whatever the worker
/// leaves behind, when the worker ends, on request, or when this program ends.
enum class guard_policy {
  /// It is, or nothing is started.
  required,
  /// It is, if there can be a guard; if not, one line of the log says so and what is then lost.
  /// A guard file that is named and cannot be executed is an error all the same.
  best_effort,
  /// It is not.
  none,
};

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>

namespace elastic::detail {

/// The commits of all ranks that belong together: the same call of commit in the same epoch.
/// Without the epoch, steps that are repeated after a restore would mix with the older ones.
struct vault_generation {
  /// Names the round in which the workers started, and is larger in each later one.
  std::int64_t epoch = 0;
  /// Counts the calls of commit in the epoch, also the skipped ones, from 1.
  std::int64_t number = 0;

  friend auto operator<=>(const vault_generation&, const vault_generation&) = default;
};

}  // namespace elastic::detail

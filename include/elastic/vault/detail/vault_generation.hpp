// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>

namespace elastic::detail {

/// The name of a set of commits, one of each rank, that belong together: they are the same call of
/// commit in the same epoch. Without the epoch, steps repeated after a restore would be confused
/// with the older ones.
struct vault_generation {
  /// The round in which the workers started; larger in each later round.
  std::int64_t epoch = 0;
  /// The number of the commit call in the epoch, from 1; skipped commits count, too.
  std::int64_t number = 0;

  friend auto operator<=>(const vault_generation&, const vault_generation&) = default;
};

}  // namespace elastic::detail

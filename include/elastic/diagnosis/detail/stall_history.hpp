// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/stall_verdict.hpp>

#include <cstddef>
#include <vector>

namespace elastic::detail {

/// The verdicts on one stall. Each claim is reported once. Pure.
///
/// Thread-safety: none.
class stall_history {
 public:
  /// How many verdicts are reported: verdicts that change with every inspection are of no use.
  static constexpr std::size_t most_verdicts = 4;

  /// Takes a verdict.
  /// Result: whether to report it: no earlier verdict blames the same ranks for the same cause with
  /// at least the same confidence. `behind` and `slow` count as one cause: they differ only in
  /// whether the rank computes at that moment.
  ELASTIC_DECL bool add(const stall_verdict& verdict);

  bool is_empty() const { return told_.empty(); }
  void clear() { told_.clear(); }

 private:
  std::vector<stall_verdict> told_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/stall_history.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stall_verdict.hpp>

#include <algorithm>
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
  bool add(const stall_verdict& verdict);

  bool is_empty() const { return told_.empty(); }
  void clear() { told_.clear(); }

 private:
  std::vector<stall_verdict> told_;
};

inline bool is_same_claim(const stall_verdict& left, const stall_verdict& right) {
  const auto claim = [](const stall_verdict& verdict) {
    return verdict.cause == stall_verdict::kind::slow ? stall_verdict::kind::behind : verdict.cause;
  };
  // Ignores the order: the most important rank comes first, and that may change.
  return claim(left) == claim(right) && std::is_permutation(left.ranks.begin(), left.ranks.end(),
                                                            right.ranks.begin(), right.ranks.end());
}

inline bool stall_history::add(const stall_verdict& verdict) {
  const bool is_known = std::any_of(told_.begin(), told_.end(), [&](const stall_verdict& earlier) {
    return is_same_claim(earlier, verdict) && earlier.confidence >= verdict.confidence;
  });
  if (is_known || told_.size() == most_verdicts) return false;
  told_.push_back(verdict);
  return true;
}

}  // namespace elastic::detail

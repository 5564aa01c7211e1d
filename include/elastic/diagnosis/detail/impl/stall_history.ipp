// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stall_history.hpp>

#include <algorithm>

namespace elastic::detail {

inline bool is_same_claim(const stall_verdict& left, const stall_verdict& right) {
  const auto claim = [](const stall_verdict& verdict) {
    return verdict.cause == stall_verdict::kind::slow ? stall_verdict::kind::behind : verdict.cause;
  };
  // Ignores the order: the most important rank comes first, and that may change.
  return claim(left) == claim(right) && std::is_permutation(left.ranks.begin(), left.ranks.end(),
                                                            right.ranks.begin(), right.ranks.end());
}

ELASTIC_DECL bool stall_history::add(const stall_verdict& verdict) {
  const bool is_known = std::any_of(told_.begin(), told_.end(), [&](const stall_verdict& earlier) {
    return is_same_claim(earlier, verdict) && earlier.confidence >= verdict.confidence;
  });
  if (is_known || told_.size() == most_verdicts) return false;
  told_.push_back(verdict);
  return true;
}

}  // namespace elastic::detail

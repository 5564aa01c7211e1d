// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/stall_verdict.hpp>

#include <cstddef>
#include <vector>

namespace elastic::detail {

/// The verdicts on one stall, of which each thing is told once. Pure.
///
/// Thread-safety: none.
class stall_history {
 public:
  /// How many verdicts are told: what changes with every look is no better than silence.
  static constexpr std::size_t most_verdicts = 4;

  /// Takes a verdict.
  /// Result: whether to tell it: none before blames the same ranks for the same cause as surely. A
  /// rank that is behind, and one that is slow, differ only in whether it computes in that moment.
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

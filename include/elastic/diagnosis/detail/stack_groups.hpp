// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>
#include <elastic/diagnosis/detail/stack_frame.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The stack of one rank.
struct rank_stack {
  int rank = 0;
  /// Innermost frame first; empty: unknown.
  std::vector<stack_frame> frames = {};
};

/// Ranks with the same stack.
struct stack_group {
  rank_set ranks = {};
  std::vector<stack_frame> frames = {};

  friend bool operator==(const stack_group&, const stack_group&) = default;
};

/// Groups ranks whose stacks have the same frames.
///
/// Result: the groups by descending size; groups of the same size by ascending ranks. Ranks with an
/// unknown stack form the last group.
ELASTIC_DECL std::vector<stack_group> merge_stacks(std::vector<rank_stack> stacks);

/// A group on one printable line: "ranks 0-1,3-7: all_reduce at train.py:88 step", or, where the
/// user's own code is innermost, "rank 2: data.py:31 read_shard".
ELASTIC_DECL std::string to_string(const stack_group& group);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/stack_groups.ipp>
#endif

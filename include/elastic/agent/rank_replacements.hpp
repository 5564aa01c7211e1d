// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <map>
#include <string>

namespace elastic {

/// How often ranks were given to new processes while other workers of the job went on.
struct rank_replacements {
  std::map<int, int> by_rank;

  void add(int rank) { ++by_rank[rank]; }
  bool empty() const { return by_rank.empty(); }

  /// "rank 3 was replaced 2 times, rank 5 once", of at most `most_ranks`; empty if none was.
  ELASTIC_DECL std::string text() const;

  /// The ranks that a text names.
  static constexpr int most_ranks = 16;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/rank_replacements.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_replacements.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string rank_replacements::text() const {
  std::string text;
  int named = 0;
  for (const auto& [rank, count] : by_rank) {
    if (named++ == most_ranks) break;
    text += fmt::format("{}rank {}{}", text.empty() ? "" : ", ", rank,
                        text.empty() ? " was replaced" : "");
    text += count == 1 ? std::string(" once") : fmt::format(" {} times", count);
  }
  const std::size_t shown = static_cast<std::size_t>(most_ranks);
  if (by_rank.size() > shown) text += fmt::format(" and {} other ranks", by_rank.size() - shown);
  return text;
}

}  // namespace elastic

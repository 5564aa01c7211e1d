// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>

#include <chrono>
#include <cstddef>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::int64_t run_result::failure::timestamp() const {
  if (error && error->timestamp != 0) return error->timestamp;
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

ELASTIC_DECL wall_time run_result::failure::moment() const {
  if (error && error->timestamp != 0 && error->written) return *error->written;
  return time;
}

ELASTIC_DECL std::string run_result::rank_replacements::text() const {
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

ELASTIC_DECL const std::string& run_result::return_value_of(int rank) const {
  const auto position = return_values.find(rank);
  if (position != return_values.end()) return position->second;
  const std::string ranks = return_values.empty()
                                ? "since no function ran or the job did not succeed"
                                : fmt::format("of ranks {} to {}", return_values.begin()->first,
                                              return_values.rbegin()->first);
  throw error(errc::invalid_argument,
              fmt::format("there is no return value of rank {}: there are {} of this node, {}",
                          rank, return_values.size(), ranks));
}

}  // namespace elastic

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

/// The number of reasons is limited: some come from standbys, which may send a new one each time.
ELASTIC_DECL void run_result::worker_starts::add_cold(const std::string& cause,
                                                      std::size_t count) {
  const bool has_room = cold.size() + 1 < most_reasons || cold.count(cause) != 0;
  cold[has_room ? cause : "of other reasons"] += count;
}

ELASTIC_DECL void run_result::worker_starts::add(const worker_starts& more) {
  warm += more.warm;
  for (const auto& [cause, count] : more.cold) add_cold(cause, count);
}

ELASTIC_DECL std::size_t run_result::worker_starts::all_cold() const {
  return std::accumulate(cold.begin(), cold.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second; });
}

ELASTIC_DECL std::string run_result::worker_starts::text() const {
  std::string text = warm > 0 ? fmt::format("{} warm", warm) : std::string();
  for (const auto& [cause, count] : cold) {
    text += fmt::format("{}{} cold, because {}", text.empty() ? "" : "; ", count, cause);
  }
  return text;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_starts.hpp>

#include <numeric>

#include <fmt/format.h>

namespace elastic {

/// The number of reasons is limited: some come from standbys, which may send a new one each time.
ELASTIC_DECL void worker_starts::add_cold(const std::string& reason, std::size_t count) {
  const bool has_room = cold.size() + 1 < most_reasons || cold.count(reason) != 0;
  cold[has_room ? reason : "of other reasons"] += count;
}

ELASTIC_DECL void worker_starts::add(const worker_starts& more) {
  warm += more.warm;
  for (const auto& [reason, count] : more.cold) add_cold(reason, count);
}

ELASTIC_DECL std::size_t worker_starts::all_cold() const {
  return std::accumulate(cold.begin(), cold.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second; });
}

ELASTIC_DECL std::string worker_starts::text() const {
  std::string text = warm > 0 ? fmt::format("{} warm", warm) : std::string();
  for (const auto& [reason, count] : cold) {
    text += fmt::format("{}{} cold, because {}", text.empty() ? "" : "; ", count, reason);
  }
  return text;
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/straggler_watch.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// `values` must not be empty.
inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ELASTIC_DECL void straggler_watch::add(int rank, int group_rank, duration step_time) {
  constexpr std::size_t most_steps = 256;
  if (step_time <= duration::zero()) return;
  record& own = ranks_[rank];
  own.group_rank = group_rank;
  ++own.added;
  const double seconds = std::chrono::duration<double>(step_time).count();
  const std::size_t window = std::clamp<std::size_t>(options_.window, 1, most_steps);
  if (own.steps.size() < window) {
    own.steps.push_back(seconds);
    return;
  }
  own.steps[own.next] = seconds;
  own.next = (own.next + 1) % window;
}

ELASTIC_DECL std::vector<straggler_change> straggler_watch::judge(time_point now) {
  std::vector<double> paces;
  for (auto& [rank, own] : ranks_) {
    if (own.steps.size() < options_.window) continue;
    own.pace = median_of(own.steps);
    paces.push_back(own.pace);
  }
  if (paces.size() < std::max<std::size_t>(options_.least_ranks, 1)) return {};
  const double pace = median_of(paces);
  std::vector<double> distances;
  for (const double each : paces) distances.push_back(std::abs(each - pace));
  // Scales the median absolute deviation to the standard deviation of a normal distribution.
  constexpr double to_deviation = 1.4826;
  const double deviation = to_deviation * median_of(std::move(distances));
  std::vector<straggler_change> changes;
  for (const int rank : update(now, pace, deviation)) {
    const record& own = ranks_.at(rank);
    changes.push_back({rank, own.group_rank, own.is_straggler, own.pace / pace, own.since,
                       own.is_straggler && is_node(own.group_rank)});
  }
  return changes;
}

/// Result: the ranks that have become stragglers or have ceased to be.
ELASTIC_DECL std::vector<int> straggler_watch::update(time_point now, double pace,
                                                      double deviation) {
  std::vector<int> changed;
  for (auto& [rank, own] : ranks_) {
    if (own.steps.size() < options_.window || own.judged == own.added) continue;
    own.judged = own.added;
    const bool is_far = own.pace - pace > options_.deviations * deviation;
    // Hysteresis: a rank near the bound does not change its state again and again.
    const double ratio = own.is_straggler ? (1 + options_.ratio) / 2 : options_.ratio;
    const bool is_slow = own.pace > ratio * pace && (is_far || own.is_straggler);
    if (is_slow == own.is_straggler) {
      own.differs_since = time_point::max();
      continue;
    }
    own.differs_since = std::min(own.differs_since, now);
    if (now - own.differs_since < options_.patience) continue;
    if (is_slow) own.since = own.differs_since;
    own.is_straggler = is_slow;
    own.differs_since = time_point::max();
    changed.push_back(rank);
  }
  return changed;
}

ELASTIC_DECL bool straggler_watch::is_node(int group_rank) const {
  std::size_t ranks = 0;
  std::size_t slow = 0;
  for (const auto& [rank, own] : ranks_) {
    if (own.group_rank != group_rank) continue;
    ++ranks;
    if (own.is_straggler) ++slow;
  }
  return ranks > 1 && slow == ranks;
}

ELASTIC_DECL std::string to_string(const straggler_change& change) {
  const std::string who = change.is_node ? fmt::format("node {} with rank {}", change.group_rank,
                                                       change.rank)
                                         : fmt::format("rank {} (node {})", change.rank,
                                                       change.group_rank);
  if (!change.is_straggler) return fmt::format("{} keeps up with the job again", who);
  return fmt::format("{} is slow: its steps take {:.2f} times the median of the job", who,
                     change.factor);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/journal_run.hpp>

#include <limits>
#include <numeric>

namespace elasticrun {

namespace {

/// The journal's size bounds the runs in it.
constexpr elastic::detail::view_bounds whole_journal{std::numeric_limits<std::size_t>::max(),
                                                     std::numeric_limits<std::size_t>::max()};

}  // namespace

double journal_run::total() const {
  const auto& seconds = view.phase_seconds();
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

std::vector<journal_run> runs_of(const std::vector<elastic::journal_record>& records) {
  std::vector<journal_run> runs;
  for (const elastic::journal_record& record : records) {
    const bool is_first = runs.empty() || runs.back().view.epoch() != record.epoch ||
                          runs.back().view.node() != record.node;
    if (is_first) runs.emplace_back().view = elastic::detail::job_view(whole_journal);
    runs.back().records.push_back(&record);
    runs.back().view.take(record);
  }
  return runs;
}

}  // namespace elasticrun

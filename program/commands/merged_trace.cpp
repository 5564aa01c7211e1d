// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/merged_trace.hpp>

#include <elastic/status/detail/trace_events.hpp>
#include <program/commands/journal_run.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// The times at which a node learned that rounds were complete: (run id, round) → time.
using round_times = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;

round_times round_times_of(const elastic::detail::journal_contents& journal) {
  round_times times;
  for (const journal_run& run : runs_of(journal.records)) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      if (attempt.nodes < 2 || !attempt.met_seconds || attempt.round < 0) continue;
      times[{run.job.run_id(), attempt.round}] = attempt.joined_us;
    }
  }
  return times;
}

/// Clocks that differ by more belong to different runs with the same run id.
constexpr std::int64_t largest_offset_us = 3'600'000'000;

/// The offset that aligns the second clock with the first; empty if the nodes have no round in
/// common.
std::optional<std::int64_t> offset_between(const round_times& reference, const round_times& other) {
  std::vector<std::int64_t> differences;
  for (const auto& [round, time] : other) {
    const auto same = reference.find(round);
    if (same != reference.end()) differences.push_back(same->second - time);
  }
  if (differences.empty()) return std::nullopt;
  std::sort(differences.begin(), differences.end());
  const std::int64_t median = differences[differences.size() / 2];
  if (median > largest_offset_us || median < -largest_offset_us) return std::nullopt;
  return median;
}

}  // namespace

std::vector<std::optional<std::int64_t>> clock_offsets(
    const std::vector<elastic::detail::journal_contents>& journals) {
  std::vector<round_times> times;
  for (const elastic::detail::journal_contents& journal : journals)
    times.push_back(round_times_of(journal));
  std::vector<std::optional<std::int64_t>> offsets(journals.size());
  if (offsets.empty()) return offsets;
  offsets.front() = 0;
  // Derives the offset of a journal from a journal whose offset is known, until no such pair is
  // left.
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (std::size_t reference = 0; reference < offsets.size(); ++reference) {
      for (std::size_t other = 0; offsets[reference] && other < offsets.size(); ++other) {
        if (offsets[other]) continue;
        const auto offset = offset_between(times[reference], times[other]);
        if (!offset) continue;
        offsets[other] = *offsets[reference] + *offset;
        has_more = true;
      }
    }
  }
  return offsets;
}

std::string merged_trace(const std::vector<elastic::detail::journal_contents>& journals) {
  const auto offsets = clock_offsets(journals);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  bool is_first = true;
  for (std::size_t index = 0; index < journals.size(); ++index) {
    detail::trace_events events(static_cast<std::int64_t>(index) + 1, offsets[index].value_or(0));
    for (const elastic::journal_record& record : journals[index].records) {
      for (const std::string& event : events.take(record)) {
        text += (std::exchange(is_first, false) ? "" : ",\n") + event;
      }
    }
  }
  return text + "\n]}\n";
}

}  // namespace elasticrun

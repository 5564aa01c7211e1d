// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/merged_trace.hpp>

#include <elastic/observe/detail/trace_events.hpp>
#include <program/commands/run_story.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// When a node learned that each round was complete: (run id, round) → time.
using round_times = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;

round_times round_times_of(const elastic::journal_contents& journal) {
  round_times times;
  for (const run_story& story : stories_of(journal.records)) {
    for (const attempt_story& attempt : story.attempts) {
      const bool has_others = attempt.joined && attempt.joined->event.group_world_size > 1;
      if (has_others && attempt.round) {
        times[{story.run_id, *attempt.round}] = attempt.joined->time_us;
      }
    }
  }
  return times;
}

/// Clocks that differ by more are of another run with the same run id.
constexpr std::int64_t largest_shift_us = 3'600'000'000;

/// What takes the second clock to the first; empty: no round in common.
std::optional<std::int64_t> shift_between(const round_times& reference, const round_times& other) {
  std::vector<std::int64_t> differences;
  for (const auto& [round, time] : other) {
    const auto same = reference.find(round);
    if (same != reference.end()) differences.push_back(same->second - time);
  }
  if (differences.empty()) return std::nullopt;
  std::sort(differences.begin(), differences.end());
  const std::int64_t median = differences[differences.size() / 2];
  if (median > largest_shift_us || median < -largest_shift_us) return std::nullopt;
  return median;
}

}  // namespace

std::vector<std::optional<std::int64_t>> clock_shifts(
    const std::vector<elastic::journal_contents>& journals) {
  std::vector<round_times> times;
  for (const elastic::journal_contents& journal : journals)
    times.push_back(round_times_of(journal));
  std::vector<std::optional<std::int64_t>> shifts(journals.size());
  if (shifts.empty()) return shifts;
  shifts.front() = 0;
  // One that met another whose shift is known gets its own, until none is left that did.
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (std::size_t reference = 0; reference < shifts.size(); ++reference) {
      for (std::size_t other = 0; shifts[reference] && other < shifts.size(); ++other) {
        if (shifts[other]) continue;
        const auto shift = shift_between(times[reference], times[other]);
        if (!shift) continue;
        shifts[other] = *shifts[reference] + *shift;
        has_more = true;
      }
    }
  }
  return shifts;
}

std::string merged_trace(const std::vector<elastic::journal_contents>& journals) {
  const auto shifts = clock_shifts(journals);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  bool is_first = true;
  for (std::size_t at = 0; at < journals.size(); ++at) {
    detail::trace_events events(static_cast<std::int64_t>(at) + 1, shifts[at].value_or(0));
    for (const elastic::journal_record& record : journals[at].records) {
      for (const std::string& event : events.take(record)) {
        text += (std::exchange(is_first, false) ? "" : ",\n") + event;
      }
    }
  }
  return text + "\n]}\n";
}

}  // namespace elasticrun

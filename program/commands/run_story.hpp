// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/detail/trace_events.hpp>
#include <elastic/observe/journal_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// One life of the worker group on a node, with the meeting before it.
struct attempt_story {
  std::optional<std::int64_t> round;
  std::optional<std::int64_t> attempt;
  std::int64_t began_us = 0;
  /// round_joined and workers_started; null: it did not come so far.
  const elastic::journal_record* joined = nullptr;
  const elastic::journal_record* started = nullptr;
  /// Workers that failed by themselves, and hung ones, in the order in which they did.
  std::vector<const elastic::journal_record*> failures;
  std::vector<const elastic::journal_record*> hung;
  /// round_ended, and what was decided then; null: it ended otherwise.
  const elastic::journal_record* change = nullptr;
  const elastic::journal_record* decision = nullptr;
  /// workers_stopped; null: no worker had to be stopped.
  const elastic::journal_record* stopped = nullptr;
  double work_seconds = 0;
  std::optional<std::int64_t> step;

  /// It ended by a failure that began on this node; null: it did not. A hung worker comes first,
  /// since it fails only when it is killed.
  const elastic::journal_record* cause() const;
};

/// What an agent did from its begin to its end, by its journal; points into the records.
struct run_story {
  std::vector<const elastic::journal_record*> records;
  std::string node;
  std::string run_id;
  std::vector<attempt_story> attempts;
  std::array<double, elastic::detail::agent_phase_names.size()> seconds{};
  /// agent_ended; null: the agent was ended meanwhile, or still runs.
  const elastic::journal_record* end = nullptr;

  double total() const;
  double seconds_of(elastic::detail::agent_phase phase) const {
    return seconds[static_cast<std::size_t>(phase)];
  }
};

/// The runs that a journal tells of, one for each epoch, in the order of the file. The records must
/// outlive them.
std::vector<run_story> stories_of(const std::vector<elastic::journal_record>& records);

}  // namespace elasticrun

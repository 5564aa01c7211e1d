// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/trace_events.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// One attempt of the worker group of a node, with the rendezvous before it.
struct attempt_story {
  std::optional<std::int64_t> round;
  std::optional<std::int64_t> attempt;
  std::int64_t began_us = 0;
  /// The events round_joined and workers_started; null: the attempt did not reach them.
  const elastic::journal_record* joined = nullptr;
  const elastic::journal_record* started = nullptr;
  /// The failures of workers, and the hung workers, in the order of time.
  std::vector<const elastic::journal_record*> failures;
  std::vector<const elastic::journal_record*> hung;
  /// The event round_ended, and the decision after it; null: the attempt ended in another way.
  const elastic::journal_record* change = nullptr;
  const elastic::journal_record* decision = nullptr;
  /// The event workers_stopped; null: no worker had to be stopped.
  const elastic::journal_record* stopped = nullptr;
  double work_seconds = 0;
  std::optional<std::int64_t> step;

  /// The root cause of a failure that started on this node; null: there is none. A hung worker
  /// precedes the failures, since it fails only when it is killed.
  const elastic::journal_record* cause() const;
};

/// One run of an agent, from its journal. Points into the records.
struct run_story {
  std::vector<const elastic::journal_record*> records;
  std::string node;
  std::string run_id;
  std::vector<attempt_story> attempts;
  std::array<double, elastic::detail::agent_phase_names.size()> seconds{};
  /// The event agent_ended; null: the agent was killed, or still runs.
  const elastic::journal_record* end = nullptr;

  double total() const;
  double seconds_of(elastic::detail::agent_phase phase) const {
    return seconds[static_cast<std::size_t>(phase)];
  }
};

/// The runs in a journal, one for each epoch, in the order of the file. The records must outlive
/// them.
std::vector<run_story> stories_of(const std::vector<elastic::journal_record>& records);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/observe/journal_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// What an agent does between two events.
enum class agent_phase { rendezvous, start, work, stop, wait, exit_barrier, rest };
inline constexpr std::array<std::string_view, 7> agent_phase_names{
    "rendezvous", "start", "work", "stop", "wait before restart", "exit barrier", "rest"};

constexpr std::string_view to_string(agent_phase phase) {
  return agent_phase_names[static_cast<std::size_t>(phase)];
}

/// What the agent does after an event, if that was `before`.
ELASTIC_DECL agent_phase phase_after(const job_event& event, agent_phase before);

/// One life of the worker group on a node, with the meeting before it.
struct attempt_story {
  std::optional<std::int64_t> round;
  std::optional<std::int64_t> attempt;
  std::int64_t began_us = 0;
  /// round_joined and workers_started; null: it did not come so far.
  const journal_record* joined = nullptr;
  const journal_record* started = nullptr;
  /// Workers that failed by themselves, and hung ones, in the order in which they did.
  std::vector<const journal_record*> failures;
  std::vector<const journal_record*> hung;
  /// round_ended, and what was decided then; null: it ended otherwise.
  const journal_record* change = nullptr;
  const journal_record* decision = nullptr;
  /// workers_stopped; null: no worker had to be stopped.
  const journal_record* stopped = nullptr;
  double work_seconds = 0;
  std::optional<std::int64_t> step;

  /// It ended by a failure that began on this node; null: it did not. A hung worker comes first,
  /// since it fails only when it is killed.
  ELASTIC_DECL const journal_record* cause() const;
};

/// What an agent did from its begin to its end, by its journal; points into the records.
struct run_story {
  std::vector<const journal_record*> records;
  std::string node;
  std::string run_id;
  std::vector<attempt_story> attempts;
  std::array<double, agent_phase_names.size()> seconds{};
  /// agent_ended; null: the agent was ended meanwhile, or still runs.
  const journal_record* end = nullptr;

  ELASTIC_DECL double total() const;
  double seconds_of(agent_phase phase) const { return seconds[static_cast<std::size_t>(phase)]; }
};

/// The runs that a journal tells of, one for each epoch, in the order of the file. The records must
/// outlive them.
ELASTIC_DECL std::vector<run_story> stories_of(const std::vector<journal_record>& records);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/observe/detail/impl/run_story.ipp>
#endif

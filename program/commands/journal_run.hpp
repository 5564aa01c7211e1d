// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_state.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace elasticrun {

/// One run of an agent in a journal. Points into the records.
struct journal_run {
  std::vector<const elastic::journal_record*> records;
  /// The state after the last record.
  elastic::detail::job_state job;

  /// From the first record to the last one.
  double total() const { return job.all_seconds(job.last_us()); }
  double seconds_of(elastic::detail::time_use use) const { return job.seconds(use, job.last_us()); }
};

/// The journal's size bounds the runs in it.
inline constexpr elastic::detail::state_bounds whole_journal{
    std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};

/// The runs in a journal, one for each epoch, in the order of their first records. Runs of
/// different roles of a job may overlap. The records must outlive the result.
std::vector<journal_run> runs_of(const std::vector<elastic::journal_record>& records,
                                 elastic::detail::state_bounds bounds = whole_journal);

/// The newest state in a journal; for a job of several roles, the newest state of each, in the
/// order in which they began.
std::vector<elastic::detail::job_state> states_of(
    const std::vector<elastic::journal_record>& records);

}  // namespace elasticrun

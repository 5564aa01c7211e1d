// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_view.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace elasticrun {

/// One run of an agent in a journal. Points into the records.
struct journal_run {
  std::vector<const elastic::journal_record*> records;
  /// The role that the agent ran; empty: the only one of its job.
  std::string role;
  /// The state after the last record, with every attempt and every failure.
  elastic::detail::job_view view;

  /// From the first record to the last one.
  double total() const { return view.all_seconds(view.last_us()); }
  double seconds_of(elastic::detail::time_use use) const {
    return view.seconds(use, view.last_us());
  }
};

/// The runs in a journal, one for each epoch, in the order of their first records. Runs of
/// different roles of a job may overlap. The records must outlive the result.
std::vector<journal_run> runs_of(const std::vector<elastic::journal_record>& records);

/// The newest state in a journal; for a job of several roles, the newest state of each, in the
/// order in which they began.
std::vector<elastic::detail::job_view> views_of(
    const std::vector<elastic::journal_record>& records);

}  // namespace elasticrun

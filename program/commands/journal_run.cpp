// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/journal_run.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <utility>

namespace elasticrun {

namespace {

/// The run that the record belongs to. It is among the last ones: at most as many runs are in
/// progress as a job has roles.
journal_run& run_of(std::vector<journal_run>& runs, const elastic::journal_record& record,
                    elastic::detail::state_bounds bounds) {
  std::size_t looked = 0;
  for (auto run = runs.rbegin(); run != runs.rend() && looked < elastic::limits::roles; ++run) {
    if (run->job.epoch() == record.epoch && run->job.node() == record.node) return *run;
    ++looked;
  }
  runs.emplace_back().job = elastic::detail::job_state(bounds);
  return runs.back();
}

}  // namespace

std::vector<journal_run> runs_of(const std::vector<elastic::journal_record>& records,
                                 elastic::detail::state_bounds bounds) {
  std::vector<journal_run> runs;
  for (const elastic::journal_record& record : records) {
    journal_run& run = run_of(runs, record, bounds);
    run.records.push_back(&record);
    run.job.take(record);
  }
  return runs;
}

std::vector<elastic::detail::job_state> states_of(
    const std::vector<elastic::journal_record>& records) {
  std::vector<elastic::detail::job_state> states;
  for (journal_run& run : runs_of(records, {})) {
    const auto same = std::find_if(states.begin(), states.end(), [&](const auto& state) {
      return state.role_of_job() == run.job.role_of_job();
    });
    auto& newest = same == states.end() ? states.emplace_back() : *same;
    newest = std::move(run.job);
  }
  if (states.empty()) states.emplace_back();
  return states;
}

}  // namespace elasticrun

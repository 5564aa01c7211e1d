// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/journal_run.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace elasticrun {

namespace {

/// The journal's size bounds the runs in it.
constexpr elastic::detail::view_bounds whole_journal{std::numeric_limits<std::size_t>::max(),
                                                     std::numeric_limits<std::size_t>::max()};

/// The run that the record belongs to. It is among the last ones: at most as many runs are in
/// progress as a job has roles.
journal_run& run_of(std::vector<journal_run>& runs, const elastic::journal_record& record) {
  std::size_t looked = 0;
  for (auto run = runs.rbegin(); run != runs.rend() && looked < elastic::limits::roles; ++run) {
    if (run->view.epoch() == record.epoch && run->view.node() == record.node) return *run;
    ++looked;
  }
  runs.emplace_back().view = elastic::detail::job_view(whole_journal);
  return runs.back();
}

}  // namespace

std::vector<journal_run> runs_of(const std::vector<elastic::journal_record>& records) {
  std::vector<journal_run> runs;
  for (const elastic::journal_record& record : records) {
    journal_run& run = run_of(runs, record);
    run.records.push_back(&record);
    run.view.take(record);
    // Without other roles, only the first event of an agent names one.
    if (record.event.kind != elastic::job_event::type::agent_started) run.role = record.event.role;
  }
  return runs;
}

std::vector<elastic::detail::job_view> views_of(
    const std::vector<elastic::journal_record>& records) {
  std::vector<std::pair<std::string, std::vector<elastic::journal_record>>> roles;
  for (const journal_run& run : runs_of(records)) {
    const auto same = std::find_if(roles.begin(), roles.end(),
                                   [&](const auto& role) { return role.first == run.role; });
    auto& of_role = same == roles.end() ? roles.emplace_back() : *same;
    of_role.first = run.role;
    for (const elastic::journal_record* record : run.records) of_role.second.push_back(*record);
  }
  std::vector<elastic::detail::job_view> views;
  for (const auto& [role, of_role] : roles) views.push_back(elastic::detail::view_of(of_role));
  if (views.empty()) views.push_back(elastic::detail::view_of(records));
  return views;
}

}  // namespace elasticrun

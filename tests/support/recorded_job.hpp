// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/run_program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// The fixed journals in tests/vectors/job_documents, which together have every kind of event, and
// the progress of the workers in one of them.
namespace elastic::test {

inline const std::string recorded_folder = ELASTIC_SOURCE_DIR "/tests/vectors/job_documents/";

/// @param name  "node0", "node1", "stalled" or "replaced"
inline detail::journal_contents recorded_contents(const std::string& name) {
  return detail::parse_journal(file_text(recorded_folder + name + ".journal"));
}

inline std::vector<journal_record> recorded_journal(const std::string& name) {
  return recorded_contents(name).records;
}

/// Workers report a step every two seconds in the 20 s after their start; the last is slower.
inline void report_recorded_steps(detail::job_view& view, const journal_record& started) {
  for (std::int64_t step = 1; step <= 10; ++step) {
    for (int local_rank = 0; local_rank < 4; ++local_rank) {
      worker_progress progress;
      progress.rank = local_rank;
      progress.local_rank = local_rank;
      const bool is_slow = local_rank == 3;
      progress.step = 100 + 20 * started.event.attempt.value_or(0) + (is_slow ? step / 2 : step);
      progress.total = 400;
      progress.text = is_slow ? "loss <2.5> \"é\"" : "";
      view.take(progress, started.time_us + step * 2'000'000);
    }
  }
  // Of one it is not known yet how much of the processors it uses.
  view.take(std::size_t{0}, detail::worker_usage{-1, 3'221'225'472});
  view.take(std::size_t{1}, detail::worker_usage{1.25, 2'147'483'648});
}

/// What the server of the rendezvous tells of the job's nodes, and what one of these reports.
inline void show_recorded_nodes(detail::job_view& view, std::int64_t now_us) {
  detail::job_roster roster;
  roster.round = 4;
  roster.is_complete = true;
  roster.min_nodes = 2;
  roster.max_nodes = 4;
  roster.active = 2;
  roster.waiting = 1;
  roster.lost = 1;
  using detail::node_presence;
  roster.nodes = {{1, "node0", "node0_1_0", node_presence::active, 0},
                  {2, "node1", "node1_77_0", node_presence::active, 1},
                  {3, "node2", "node2_5_0", node_presence::waiting, -1},
                  {4, "node<3>", "node<3>_6_0", node_presence::lost, -1}};
  view.whole().take(roster, now_us - 12'000'000);
  detail::node_report report;
  report.begins = true;
  report.epoch = 5;
  report.activity = detail::agent_activity::running;
  report.round = 4;
  report.base_rank = 4;
  report.size = 2;
  report.workers.resize(2);
  for (std::int64_t at = 0; at < 2; ++at) {
    detail::viewed_worker& worker = report.workers[static_cast<std::size_t>(at)];
    worker.local_rank = at;
    worker.pid = 900 + at;
    worker.state = at == 0 ? detail::viewed_worker::condition::running
                           : detail::viewed_worker::condition::failed;
    worker.step = 160;
    worker.total = 400;
    worker.step_seconds = 2.5;
  }
  report.workers[1].signal = 11;
  report.workers[1].reason = "signal 11 (SIGSEGV)";
  report.used.resize(2);
  report.used[1].local_rank = 1;
  report.used[0].usage = report.used[1].usage = {0.5, 1'073'741'824};
  view.whole().take(2, report, view.job().epoch(), now_us - 2'000'000);
}

/// Calls `show` after each record of the journal "node0", with the view of an agent that serves the
/// status, and the time.
inline void follow_recorded_job(
    const std::function<void(const journal_record&, const detail::job_view&, std::int64_t)>& show) {
  detail::job_view view;
  for (const journal_record& record : recorded_journal("node0")) {
    view.take(record);
    const job_event::type kind = record.event.kind;
    if (kind == job_event::type::workers_started) report_recorded_steps(view, record);
    if (kind == job_event::type::workers_started && record.event.round == 4) {
      show_recorded_nodes(view, record.time_us + 21'000'000);
    }
    if (kind == job_event::type::fence_reached) view.whole().forget();
    const bool has_steps = kind == job_event::type::workers_started;
    show(record, view, record.time_us + (has_steps ? 21'500'000 : 1'500'000));
  }
}

}  // namespace elastic::test

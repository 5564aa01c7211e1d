// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/run_story.hpp>

#include <algorithm>
#include <numeric>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// Adds a record to the story of an attempt.
void add_to(attempt_story& attempt, const elastic::journal_record& record) {
  using kind = elastic::job_event_kind;
  const elastic::job_event& event = record.event;
  if (event.round) attempt.round = event.round;
  switch (event.kind) {
    case kind::round_joined:
      attempt.joined = &record;
      attempt.attempt = event.attempt;
      break;
    case kind::workers_started: attempt.started = &record; break;
    case kind::worker_ended:
      if (event.state != "succeeded") attempt.failures.push_back(&record);
      break;
    case kind::worker_hung: attempt.hung.push_back(&record); break;
    case kind::round_ended: attempt.change = &record; break;
    case kind::restart_decided:
    case kind::failure_decided: attempt.decision = &record; break;
    case kind::workers_stopped: attempt.stopped = &record; break;
    default: break;
  }
  if (event.step) attempt.step = std::max(attempt.step.value_or(*event.step), *event.step);
}

void add_to(run_story& story, const elastic::journal_record& record, detail::agent_phase& phase) {
  const std::int64_t last_us =
      story.records.empty() ? record.time_us : story.records.back()->time_us;
  const double span = std::max(0.0, static_cast<double>(record.time_us - last_us) / 1e6);
  story.seconds[static_cast<std::size_t>(phase)] += span;
  if (phase == detail::agent_phase::work && !story.attempts.empty()) {
    story.attempts.back().work_seconds += span;
  }
  story.records.push_back(&record);
  if (!record.event.run_id.empty()) story.run_id = record.event.run_id;
  const bool is_cut_off =
      story.attempts.empty() && record.event.kind != elastic::job_event_kind::agent_started;
  if (record.event.kind == elastic::job_event_kind::rendezvous_started || is_cut_off) {
    story.attempts.emplace_back().began_us = record.time_us;
  }
  if (!story.attempts.empty()) add_to(story.attempts.back(), record);
  if (record.event.kind == elastic::job_event_kind::agent_ended) story.end = &record;
  phase = detail::phase_after(record.event, phase);
}

}  // namespace

const elastic::journal_record* attempt_story::cause() const {
  const bool is_elsewhere =
      change && (change->event.elsewhere == 1 || change->event.state != "worker_failed");
  if (is_elsewhere) return nullptr;
  if (!hung.empty()) return hung.front();
  return failures.empty() ? nullptr : failures.front();
}

double run_story::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

std::vector<run_story> stories_of(const std::vector<elastic::journal_record>& records) {
  std::vector<run_story> stories;
  detail::agent_phase phase = detail::agent_phase::rendezvous;
  for (const elastic::journal_record& record : records) {
    if (stories.empty() || stories.back().records.back()->epoch != record.epoch ||
        stories.back().node != record.node) {
      stories.emplace_back().node = record.node;
      phase = detail::agent_phase::rendezvous;
    }
    add_to(stories.back(), record, phase);
  }
  return stories;
}

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/detail/run_story.hpp>

#include <algorithm>
#include <numeric>

namespace elastic::detail {

ELASTIC_DECL agent_phase phase_after(const job_event& event, agent_phase before) {
  using kind = job_event_kind;
  switch (event.kind) {
    case kind::agent_started:
    case kind::rendezvous_started: return agent_phase::rendezvous;
    case kind::round_joined:
    case kind::workers_starting: return agent_phase::start;
    case kind::workers_started: return agent_phase::work;
    case kind::workers_judged:
      return event.state == "succeeded" ? agent_phase::exit_barrier : agent_phase::stop;
    case kind::round_ended:
    case kind::restart_decided:
    case kind::failure_decided:
    case kind::stop_requested:
    case kind::fence_reached:
    case kind::workers_stopping: return agent_phase::stop;
    case kind::workers_stopped: return agent_phase::wait;
    case kind::exit_barrier_started: return agent_phase::exit_barrier;
    case kind::exit_barrier_ended:
    case kind::agent_ended: return agent_phase::rest;
    case kind::worker_ended:
    case kind::worker_hung:
    case kind::fault_injected:
    case kind::worker_suspected:
    case kind::failure_described:
    case kind::job_paused:
    case kind::job_resumed:
    case kind::checkpoint_ended:
    case kind::node_told: break;
  }
  return before;
}

ELASTIC_DECL const journal_record* attempt_story::cause() const {
  const bool is_elsewhere =
      change && (change->event.elsewhere == 1 || change->event.state != "worker_failed");
  if (is_elsewhere) return nullptr;
  if (!hung.empty()) return hung.front();
  return failures.empty() ? nullptr : failures.front();
}

ELASTIC_DECL double run_story::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// What one record adds to the story of an attempt.
inline void add_to(attempt_story& attempt, const journal_record& record) {
  using kind = job_event_kind;
  const job_event& event = record.event;
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

inline void add_to(run_story& story, const journal_record& record, agent_phase& phase) {
  const std::int64_t last_us =
      story.records.empty() ? record.time_us : story.records.back()->time_us;
  const double span = std::max(0.0, static_cast<double>(record.time_us - last_us) / 1e6);
  story.seconds[static_cast<std::size_t>(phase)] += span;
  if (phase == agent_phase::work && !story.attempts.empty()) {
    story.attempts.back().work_seconds += span;
  }
  story.records.push_back(&record);
  if (!record.event.run_id.empty()) story.run_id = record.event.run_id;
  const bool is_cut_off =
      story.attempts.empty() && record.event.kind != job_event_kind::agent_started;
  if (record.event.kind == job_event_kind::rendezvous_started || is_cut_off) {
    story.attempts.emplace_back().began_us = record.time_us;
  }
  if (!story.attempts.empty()) add_to(story.attempts.back(), record);
  if (record.event.kind == job_event_kind::agent_ended) story.end = &record;
  phase = phase_after(record.event, phase);
}

ELASTIC_DECL std::vector<run_story> stories_of(const std::vector<journal_record>& records) {
  std::vector<run_story> stories;
  agent_phase phase = agent_phase::rendezvous;
  for (const journal_record& record : records) {
    if (stories.empty() || stories.back().records.back()->epoch != record.epoch ||
        stories.back().node != record.node) {
      stories.emplace_back().node = record.node;
      phase = agent_phase::rendezvous;
    }
    add_to(stories.back(), record, phase);
  }
  return stories;
}

}  // namespace elastic::detail

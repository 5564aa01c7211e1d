// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_journal.hpp>

#include <elastic/agent/run_result.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/limits.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline const char* journal_name(worker_state state) {
  if (state == worker_state::succeeded) return "succeeded";
  return state == worker_state::failed ? "failed" : "stopped";
}

inline const char* journal_name(const rendezvous_change& change) {
  if (change.is_pause) return "paused";
  if (change.kind == rendezvous_change::cause::node_waiting) return "node_waiting";
  return change.kind == rendezvous_change::cause::node_lost ? "node_lost" : "worker_failed";
}

/// The decision after a round in which only some workers are replaced.
inline constexpr const char* replace_name = "replace";

ELASTIC_DECL agent_journal::agent_journal(job_journal& journal, const worker_spec& spec,
                                          const worker_group& group, time_source& time)
    : journal_(journal), spec_(spec), group_(group), time_(time) {}

ELASTIC_DECL void agent_journal::begin_round(std::int64_t round) {
  round_ = round;
  is_judged_ = false;
}

ELASTIC_DECL job_event agent_journal::about(job_event::type kind) const {
  job_event event;
  event.kind = kind;
  event.round = round_;
  if (round_) event.attempt = attempt_;
  return event;
}

ELASTIC_DECL double agent_journal::seconds_since(time_point then) const {
  return std::chrono::duration<double>(time_.now() - then).count();
}

// ---- the run ------------------------------------------------------------------------------------

ELASTIC_DECL void agent_journal::record(job_event::type kind, std::string reason) {
  if (kind == job_event::type::workers_starting) is_stopped_ = false;
  job_event event = about(kind);
  event.reason = std::move(reason);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_missing(std::string sentence) {
  job_event event = about(job_event::type::notice_given);
  event.state = "missing";
  event.reason = std::move(sentence);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_start(std::string run_id, std::string backend) {
  job_event event = about(job_event::type::agent_started);
  event.run_id = std::move(run_id);
  event.backend = std::move(backend);
  event.role = spec_.role;
  event.local_world_size = spec_.nproc_per_node;
  event.max_restarts = spec_.max_restarts;
  if (internals::survivors_of(group_).is_on()) event.state = replace_name;
  event.pid = ::getpid();
  if (std::string host = host_name(); host != node()) event.host = std::move(host);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_end(worker_state state, std::string reason,
                                            time_point began) {
  job_event event = about(job_event::type::agent_ended);
  event.state = journal_name(state);
  event.reason = std::move(reason);
  event.seconds = seconds_since(began);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_stop_request(std::string reason, int signal) {
  job_event event = about(job_event::type::stop_requested);
  event.reason = std::move(reason);
  event.signal = signal;
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_fault(const worker_group::worker& victim, int signal,
                                              std::string reason) {
  job_event event = about(job_event::type::fault_injected);
  event.rank = victim.identity.rank;
  event.local_rank = victim.identity.local_rank;
  event.pid = victim.pid;
  event.signal = signal;
  event.reason = std::move(reason);
  journal_.record(std::move(event));
}

// ---- attempts -----------------------------------------------------------------------------------

ELASTIC_DECL job_event agent_journal::about_ranks(job_event::type kind,
                                                  const rendezvous_round& round,
                                                  const assigned_ranks& ranks,
                                                  time_point began) const {
  job_event event = about(kind);
  event.group_rank = round.group_rank;
  event.group_world_size = round.group_world_size;
  event.world_size = ranks.world_size;
  event.base_rank = ranks.base_rank;
  event.local_world_size = spec_.nproc_per_node;
  event.seconds = seconds_since(began);
  return event;
}

ELASTIC_DECL void agent_journal::record_round(const rendezvous_round& round,
                                              const assigned_ranks& ranks, time_point began) {
  journal_.record(about_ranks(job_event::type::round_joined, round, ranks, began));
}

ELASTIC_DECL void agent_journal::record_workers(
    const rendezvous_round& round, const assigned_ranks& ranks,
    const std::optional<run_result::worker_starts>& starts, time_point began) {
  job_event event = about_ranks(job_event::type::workers_started, round, ranks, began);
  for (const worker_group::worker& entry : group_.workers()) event.pids.push_back(entry.pid);
  if (starts) {
    event.count = static_cast<std::int64_t>(starts->warm);
    event.reason = starts->text();
  }
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_round_end(const rendezvous_change& change, int failures,
                                                  std::optional<time_point> stepped) {
  job_event event = about(job_event::type::round_ended);
  event.state = journal_name(change);
  event.reason = change.reason;
  if (change.on_other_node) event.elsewhere = 1;
  event.restarts = failures;
  event.step = group_.reports().furthest_step;
  if (stepped) event.seconds = seconds_since(*stepped);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_replacement(const rendezvous_change& change,
                                                    const agent_part::started_workers& start,
                                                    time_point ended) {
  job_event event = about(job_event::type::ranks_replaced);
  event.state = journal_name(change);
  event.reason = change.reason;
  event.count = start.stayed;
  event.ranks.assign(start.replaced.begin(), start.replaced.end());
  if (!event.ranks.empty()) event.rank = event.ranks.front();
  event.seconds = seconds_since(ended);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_rollback(std::int64_t step) {
  job_event event = about(job_event::type::rollback_started);
  event.step = step;
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_step(std::int64_t step, time_point since) {
  job_event event = about(job_event::type::step_reached);
  event.step = step;
  event.seconds = seconds_since(since);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_verdict() {
  if (!round_ || is_judged_) return;
  const worker_state state = group_.state();
  if (state == worker_state::healthy || state == worker_state::init) return;
  is_judged_ = true;
  job_event event = about(job_event::type::workers_judged);
  event.state = journal_name(state);
  if (group_.reports().no_restart) event.reason = *group_.reports().no_restart;
  if (group_.reports().bad_node) event.reason = *group_.reports().bad_node;
  event.step = group_.reports().furthest_step;
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_decision(const restart_ledger::decision& decision,
                                                 int failures, bool replaces) {
  job_event event =
      about(decision.restart ? job_event::type::restart_decided : job_event::type::failure_decided);
  event.reason = decision.reason;
  if (replaces) event.state = replace_name;
  event.restarts = failures;
  event.max_restarts = spec_.max_restarts;
  if (decision.restart) event.allowed = std::chrono::duration<double>(decision.delay).count();
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_cause() {
  const std::optional<run_result::failure> failure = group_.first_failure();
  if (!failure) return;
  job_event event = about(job_event::type::failure_described);
  event.rank = failure->rank;
  event.local_rank = failure->local_rank;
  event.pid = failure->pid;
  if (failure->error) event.reason = failure->error->message;
  for (const std::string& line : failure->last_stderr) event.lines += line + '\n';
  // The end is the most informative part.
  if (event.lines.size() > limits::journal_text_bytes) {
    const std::size_t cut = event.lines.size() - limits::journal_text_bytes;
    event.lines.erase(0, event.lines.find('\n', cut - 1) + 1);
  }
  if (event.reason.empty() && event.lines.empty()) return;
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_checkpoint(
    const worker_channels::checkpoint_outcome& outcome, time_point began) {
  job_event event = about(job_event::type::checkpoint_ended);
  event.reason = outcome.asked == 0 ? "no worker accepts requests for a checkpoint"
                                    : fmt::format("of {} workers", outcome.asked);
  event.count = outcome.saved;
  event.seconds = seconds_since(began);
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::record_exit_barrier(std::string state, std::string reason,
                                                     time_point began) {
  job_event event = about(job_event::type::exit_barrier_ended);
  event.state = std::move(state);
  event.reason = std::move(reason);
  event.seconds = seconds_since(began);
  journal_.record(std::move(event));
}

ELASTIC_DECL task<void> agent_journal::time_stop(stop_plan plan, task<void> stopping) {
  const auto& workers = group_.workers();
  const bool has_victims = std::any_of(
      workers.begin(), workers.end(),
      [](const worker_group::worker& entry) { return !entry.end || entry.stopped_by_agent; });
  stopping_.reset();
  if (is_stopped_ || !has_victims) co_return co_await std::move(stopping);
  const time_point began = time_.now();
  record_stopping(plan);
  co_await std::move(stopping);
  is_stopped_ = true;
  job_event event = *std::exchange(stopping_, std::nullopt);
  event.kind = job_event::type::workers_stopped;
  event.seconds = seconds_since(began);
  event.count =
      std::count_if(group_.workers().begin(), group_.workers().end(),
                    [](const worker_group::worker& entry) { return entry.stopped_by_agent; });
  journal_.record(std::move(event));
}

ELASTIC_DECL void agent_journal::change_stop(stop_plan plan) {
  if (stopping_) record_stopping(plan);
}

ELASTIC_DECL void agent_journal::record_stopping(stop_plan plan) {
  job_event event = about(job_event::type::workers_stopping);
  event.signal = plan.signal;
  event.count = static_cast<std::int64_t>(group_.running());
  if (plan.grace < std::chrono::hours(24 * 365)) {
    event.allowed = std::chrono::duration<double>(plan.grace).count();
  }
  journal_.record(event);
  stopping_ = std::move(event);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_state.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline std::string exit_name(const job_event& event) {
  if (event.signal) return fmt::format("signal:{}", *event.signal);
  if (event.exit_code) return fmt::format("exit:{}", *event.exit_code);
  return "unknown";
}

/// "rank 3 ended: exit code 1".
inline std::string end_text(const job_event& event) {
  const std::string how = event.reason.empty() ? exit_name(event) : event.reason;
  return fmt::format("rank {} ended: {}", event.rank.value_or(-1), how);
}

/// The begin of the span that a record ends, whatever a file says.
inline std::int64_t time_before(const journal_record& record) {
  const double began_us =
      static_cast<double>(record.time_us) - record.event.seconds.value_or(0) * 1e6;
  return static_cast<std::int64_t>(std::clamp(began_us, 0.0, 9e18));
}

ELASTIC_DECL void duration_histogram::add(double seconds) {
  ++count;
  sum += seconds;
  const auto bound = std::lower_bound(bounds.begin(), bounds.end(), seconds);
  if (bound != bounds.end()) ++counts[static_cast<std::size_t>(bound - bounds.begin())];
}

ELASTIC_DECL const job_event* job_attempt::root_cause() const {
  const bool is_own = !change || (change == "worker_failed" && !is_elsewhere);
  if (!is_own) return nullptr;
  if (!hung.empty()) return &hung.front();
  return failures.empty() ? nullptr : &failures.front();
}

ELASTIC_DECL std::string role_of_run(const job_event& event) {
  // The first event of any agent has a role, but only the run id of such an agent ends with it.
  if (event.kind != job_event::type::agent_started) return event.role;
  const std::size_t slash = event.run_id.rfind('/');
  const bool is_one = slash != std::string::npos &&
                      std::string_view(event.run_id).substr(slash + 1).starts_with(event.role);
  return is_one ? event.role : std::string();
}

inline agent_phase phase_after(const job_event& event, agent_phase before) {
  using kind = job_event::type;
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
    // Only this record says that a replica runs again; for a world, `workers_started` does.
    case kind::ranks_replaced: return event.pid ? agent_phase::work : before;
    case kind::exit_barrier_ended:
    case kind::agent_ended: return agent_phase::rest;
    default: return before;
  }
}

ELASTIC_DECL bool job_state::take(const journal_record& record) {
  if (record.epoch == epoch_ && record.sequence <= sequence_) return false;
  if (record.epoch != epoch_ || sequence_ == 0) begin_run(record);
  sequence_ = record.sequence;
  node_ = record.node;
  last_us_ = record.time_us;
  role_of_job_ = role_of_run(record.event);
  phase_ = phase_after(record.event, phase_);
  apply(record);
  return true;
}

ELASTIC_DECL void job_state::begin_run(const journal_record& record) {
  *this = job_state(bounds_);
  epoch_ = record.epoch;
  began_us_ = record.time_us;
  use_began_us_ = record.time_us;
  // Any other first event shows that the beginning of the journal is lost.
  if (record.event.kind == job_event::type::agent_started) return;
  add_attempt(record);
  attempts_.back().round = record.event.round.value_or(-1);
}

ELASTIC_DECL void job_state::apply_standbys(const job_event& event) {
  job_standbys now = standbys_.value_or(job_standbys());
  now.ready = event.count.value_or(0);
  now.making = event.making.value_or(0);
  now.bytes = event.bytes.value_or(0);
  now.most_ready = std::max(now.most_ready, now.ready);
  now.most_bytes = std::max(now.most_bytes, now.bytes);
  standbys_ = now;
}

ELASTIC_DECL void job_state::apply_vault(const journal_record& record) {
  const job_event& event = record.event;
  job_vault now = vault_.value_or(job_vault());
  now.skipped = event.count.value_or(now.skipped);
  now.bytes = event.bytes.value_or(now.bytes);
  if (event.kind == job_event::type::vault_restored) ++now.restores;
  if (event.kind == job_event::type::vault_dropped && event.state == "lost") now.complete_us = 0;
  if (event.kind == job_event::type::vault_committed) {
    now.generation = event.generation.value_or(0);
    now.step = event.step.value_or(0);
    now.complete_us = record.time_us;
  }
  vault_ = now;
}

/// Keeps an event if there is room for it.
ELASTIC_DECL void job_state::keep(std::vector<job_event> job_attempt::*kept,
                                  const job_event& event) {
  if (attempts_.empty()) return;
  std::vector<job_event>& events = attempts_.back().*kept;
  if (events.size() < bounds_.failures) events.push_back(event);
}

ELASTIC_DECL void job_state::apply(const journal_record& record) {
  const job_event& event = record.event;
  // The event counts failures, but the failure that ends a job causes no restart.
  const std::int64_t last = event.kind == job_event::type::failure_decided ? 1 : 0;
  if (event.restarts) restarts_ = std::max<std::int64_t>(*event.restarts - last, 0);
  if (event.max_restarts) max_restarts_ = *event.max_restarts;
  switch (event.kind) {
    case job_event::type::agent_started:
      run_id_ = event.run_id;
      backend_ = event.backend;
      role_ = event.role;
      replacements_.is_on = event.state == "replace";
      break;
    case job_event::type::rendezvous_started:
      is_stalled_ = false;
      open_attempt(record);
      break;
    case job_event::type::round_joined: join_round(record); break;
    case job_event::type::workers_starting: use_time(time_use::start, record.time_us); break;
    case job_event::type::workers_started: start_workers(record); break;
    case job_event::type::worker_ended: end_worker(record); break;
    case job_event::type::worker_hung: apply_hung(record); break;
    case job_event::type::worker_suspected: suspect(record.event); break;
    case job_event::type::workers_judged:
      if (event.state == "succeeded") {
        end_attempt(record, attempt_end::success);
        activity_ = agent_activity::finishing;
      }
      break;
    case job_event::type::round_ended:
      end_attempt(record, event.state == "paused"          ? attempt_end::request
                          : event.state == "worker_failed" ? attempt_end::failure
                                                           : attempt_end::membership);
      if (!attempts_.empty()) attempts_.back().change = event.state;
      if (!attempts_.empty()) attempts_.back().is_elsewhere = event.elsewhere == 1;
      if (event.seconds) lose_last_step(time_before(record));
      break;
    case job_event::type::job_paused:
      pause_ = event.reason;
      show_meeting();
      break;
    case job_event::type::job_resumed:
      pause_.clear();
      show_meeting();
      break;
    case job_event::type::restart_decided:
    case job_event::type::failure_decided: decide(record); break;
    case job_event::type::failure_described:
      if (attempts_.empty()) break;
      attempts_.back().cause = event.reason;
      attempts_.back().last_lines = event.lines;
      break;
    case job_event::type::stop_requested:
      pause_.clear();
      end_attempt(record, attempt_end::request);
      break;
    case job_event::type::workers_stopping:
      is_stopping_ = true;
      if (!attempts_.empty()) attempts_.back().stopping_us = record.time_us;
      if (activity_ != agent_activity::finishing) activity_ = agent_activity::stopping;
      if (is_working()) use_time(time_use::stop, record.time_us);
      break;
    case job_event::type::workers_stopped: apply_stopped(record); break;
    case job_event::type::exit_barrier_started:
      activity_ = agent_activity::finishing;
      reason_ = "the workers have ended; waiting for the other nodes";
      use_time(time_use::exit_barrier, record.time_us);
      break;
    case job_event::type::agent_ended:
      is_stalled_ = false;
      end_agent(record);
      break;
    case job_event::type::stall_found: apply_stall(record); break;
    case job_event::type::standbys_changed: apply_standbys(event); break;
    case job_event::type::vault_committed:
    case job_event::type::vault_restored:
    case job_event::type::vault_dropped:
    case job_event::type::vault_skipped: apply_vault(record); break;
    case job_event::type::stall_ended:
      is_stalled_ = false;
      if (use_ == time_use::stall) use_time(stalled_use_, record.time_us);
      break;
    case job_event::type::fence_reached:
      if (!attempts_.empty()) attempts_.back().is_fenced = true;
      break;
    case job_event::type::checkpoint_ended:
    case job_event::type::fault_injected:
    case job_event::type::notice_given:
    case job_event::type::exit_barrier_ended:
    case job_event::type::node_told: break;
    case job_event::type::ranks_replaced:
      if (event.pid) restart_replica(record);
      apply_replacement(event);
      break;
    case job_event::type::replacement_abandoned:
      ++replacements_.abandoned;
      replacements_.last_obstacle = event.reason;
      break;
    case job_event::type::rollback_started:
      mark_first_step();
      use_time(time_use::rollback, record.time_us);
      break;
    case job_event::type::step_reached: apply_reached_step(record); break;
  }
  // This belongs to an attempt also after its end.
  if (event.step && !attempts_.empty()) {
    std::optional<std::int64_t>& furthest = attempts_.back().step;
    furthest = std::max(furthest.value_or(*event.step), *event.step);
  }
}

/// Notes that a replica runs again; the others ran on. This begins an attempt, unless a replica
/// that ended at the same time has already begun it.
ELASTIC_DECL void job_state::restart_replica(const journal_record& record) {
  const job_event& event = record.event;
  const std::int64_t place = event.rank.value_or(-1);
  if (attempts_.empty() || place < 0 || place >= static_cast<std::int64_t>(workers_.size())) return;
  if (attempts_.back().end != attempt_end::none) {
    job_attempt& last = attempts_.back();
    last.lost_seconds = event.seconds;
    job_attempt next;
    next.round = last.round;
    next.number = restarts_;
    next.world_size = last.world_size;
    next.nodes = last.nodes;
    next.workers = last.workers;
    next.began_us = last.ended_us;
    next.started_us = record.time_us;
    add_attempt(record);
    attempts_.back() = std::move(next);
  }
  place_worker(static_cast<std::size_t>(place));
  job_worker& worker = workers_[static_cast<std::size_t>(place)];
  worker.pid = *event.pid;
  worker.state = job_worker::condition::running;
  will_restart_ = false;
  activity_ = agent_activity::running;
  reason_.clear();
  use_time(time_use::training, record.time_us);
}

/// The attempt that has just begun.
ELASTIC_DECL void job_state::apply_replacement(const job_event& event) {
  if (attempts_.empty()) return;
  constexpr auto most = static_cast<std::size_t>(limits::local_world_size);
  job_attempt& attempt = attempts_.back();
  attempt.is_replacement = true;
  attempt.replaced = event.ranks;
  attempt.replaced.resize(std::min(attempt.replaced.size(), most));
  ++replacements_.epochs;
  replacements_.ranks += static_cast<std::int64_t>(attempt.replaced.size());
  if (event.seconds) replacements_.durations.add(*event.seconds);
  for (const std::int64_t rank : attempt.replaced) {
    const bool is_known = replacements_.by_rank.contains(rank);
    if (is_known || replacements_.by_rank.size() < most) ++replacements_.by_rank[rank];
  }
  show_replacements();
}

ELASTIC_DECL void job_state::show_replacements() {
  for (job_worker& worker : workers_) {
    const auto position = replacements_.by_rank.find(worker.rank);
    worker.replacements = position == replacements_.by_rank.end() ? 0 : position->second;
    worker.changed = sequence_;
  }
}

ELASTIC_DECL void job_state::apply_stall(const journal_record& record) {
  if (record.event.elsewhere != 1) keep(&job_attempt::stalls, record.event);
  if (is_working() && use_ != time_use::stall) {
    const std::int64_t from_us = std::max(time_before(record), use_began_us_);
    stalled_use_ = use_;
    use_time(time_use::stall, from_us);
  }
  stall_ = record;
  is_stalled_ = true;
}

/// The workers report steps, so that what came before the first one was their start.
ELASTIC_DECL void job_state::mark_first_step() {
  if (std::exchange(has_steps_, true)) return;
  for (const time_use use : {time_use::training, time_use::stall}) {
    if (use_ == use) use_ = time_use::start;
    double& seconds = used_[static_cast<std::size_t>(use)];
    used_[static_cast<std::size_t>(time_use::start)] += std::exchange(seconds, 0);
  }
}

ELASTIC_DECL void job_state::apply_reached_step(const journal_record& record) {
  mark_first_step();
  use_time(time_use::training, record.time_us);
  if (attempts_.empty()) return;
  attempts_.back().reached_seconds = record.event.seconds;
  attempts_.back().reached_us = record.time_us;
  add_lost_time(record.time_us);
}

/// The replicas have stopped for a pause.
ELASTIC_DECL void job_state::rest(const journal_record& record) {
  end_attempt(record, attempt_end::request);
  is_open_ = false;
  use_time(time_use::rendezvous, record.time_us);
  activity_ = agent_activity::paused;
  reason_ = pause_;
}

/// Shows that the nodes meet. A pause is shown to its end.
ELASTIC_DECL void job_state::show_meeting() {
  if (activity_ != agent_activity::meeting && activity_ != agent_activity::paused) return;
  activity_ = pause_.empty() ? agent_activity::meeting : agent_activity::paused;
  reason_ = pause_.empty() ? "waiting for the nodes of the next round" : pause_;
}

ELASTIC_DECL void job_state::open_attempt(const journal_record& record) {
  activity_ = agent_activity::meeting;
  show_meeting();
  use_time(time_use::rendezvous, record.time_us);
  will_restart_ = false;
  if (is_open_ && attempts_.back().end == attempt_end::none) return;
  add_attempt(record);
}

ELASTIC_DECL void job_state::add_attempt(const journal_record& record) {
  is_open_ = true;
  if (attempts_.size() >= bounds_.attempts) attempts_.pop_front();
  attempts_.emplace_back();
  attempts_.back().began_us = record.time_us;
}

ELASTIC_DECL void job_state::place_worker(std::size_t place) {
  job_worker& worker = workers_[place] = {};
  // Unsigned, since a file may say anything.
  worker.rank = static_cast<std::int64_t>(static_cast<std::uint64_t>(base_rank_) + place);
  worker.local_rank = static_cast<std::int64_t>(place);
  worker.placed = worker.changed = sequence_;
}

ELASTIC_DECL void job_state::join_round(const journal_record& record) {
  const job_event& event = record.event;
  if (!is_open_) open_attempt(record);
  if (event.seconds) rendezvous_.add(*event.seconds);
  use_time(time_use::start, record.time_us);
  pause_.clear();
  activity_ = agent_activity::meeting;
  reason_ = "starting the workers";
  job_attempt& attempt = attempts_.back();
  attempt.round = event.round.value_or(attempt.round);
  attempt.number = event.attempt.value_or(restarts_);
  attempt.world_size = event.world_size.value_or(attempt.world_size);
  attempt.nodes = event.group_world_size.value_or(attempt.nodes);
  if (event.kind == job_event::type::round_joined) {
    attempt.joined_us = record.time_us;
    attempt.met_seconds = event.seconds.value_or(0);
  }
  group_rank_ = event.group_rank.value_or(group_rank_);
  base_rank_ = event.base_rank.value_or(0);
  const std::int64_t size =
      std::clamp<std::int64_t>(event.local_world_size.value_or(0), 0, limits::local_world_size);
  workers_.resize(static_cast<std::size_t>(size));
  for (std::size_t place = 0; place < workers_.size(); ++place) place_worker(place);
  show_replacements();
}

ELASTIC_DECL void job_state::start_workers(const journal_record& record) {
  const job_event& event = record.event;
  if (!is_open_ || workers_.empty()) join_round(record);
  if (event.seconds) starts_.add(*event.seconds);
  use_time(has_steps_ ? time_use::start : time_use::training, record.time_us);
  is_last_step_open_ = false;
  activity_ = agent_activity::running;
  reason_.clear();
  is_stopping_ = false;
  attempts_.back().started_us = record.time_us;
  attempts_.back().workers = event.local_world_size.value_or(0);
  add_lost_time(record.time_us);
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    workers_[index].state = job_worker::condition::running;
    workers_[index].changed = sequence_;
    if (index < event.pids.size()) workers_[index].pid = event.pids[index];
  }
}

/// Updates the cost of the end of the attempt before this one.
ELASTIC_DECL void job_state::add_lost_time(std::int64_t now_us) {
  if (attempts_.size() < 2) return;
  job_attempt& last = attempts_[attempts_.size() - 2];
  last.lost_seconds = seconds_between(last.ended_us, now_us);
}

/// The worker that an event changes; null: none of this node.
ELASTIC_DECL job_worker* job_state::changed_worker(const job_event& event) {
  const std::int64_t place = event.local_rank.value_or(-1);
  if (place < 0 || place >= static_cast<std::int64_t>(workers_.size())) return nullptr;
  job_worker& worker = workers_[static_cast<std::size_t>(place)];
  worker.changed = sequence_;
  return &worker;
}

ELASTIC_DECL void job_state::end_worker(const journal_record& record) {
  const job_event& event = record.event;
  using condition = job_worker::condition;
  const std::string name = exit_name(event);
  // Exit codes and signals limit the number of names, but a file may name any number of them.
  if (exits_.contains(name) || exits_.size() < limits::viewed_exits) ++exits_[name];
  const bool succeeded = has_succeeded(event);
  if (!succeeded) keep(&job_attempt::failures, event);
  job_worker* const worker = changed_worker(event);
  if (worker) {
    worker->exit_code = event.exit_code;
    worker->signal = event.signal;
    worker->ended_us = record.time_us;
    if (!event.reason.empty()) worker->reason = event.reason;
    if (succeeded) {
      worker->state = condition::succeeded;
    } else if (worker->state != condition::hung) {
      worker->state = is_stopping_ ? condition::stopped : condition::failed;
    }
  }
  if (succeeded || is_stopping_) return;
  const bool is_hung = worker && worker->state == condition::hung;
  end_attempt(record, is_hung ? attempt_end::hang : attempt_end::failure);
}

ELASTIC_DECL void job_state::apply_hung(const journal_record& record) {
  keep(&job_attempt::hung, record.event);
  if (job_worker* const worker = changed_worker(record.event)) {
    worker->state = job_worker::condition::hung;
    worker->reason = record.event.reason;
  }
  end_attempt(record, attempt_end::hang);
}

ELASTIC_DECL void job_state::suspect(const job_event& event) {
  job_worker* const worker = changed_worker(event);
  if (!worker) return;
  const auto name =
      std::find(worker_suspicion_names.begin(), worker_suspicion_names.end(), event.state);
  if (name == worker_suspicion_names.end()) return;
  worker->suspicion = static_cast<job_event::suspicion>(name - worker_suspicion_names.begin());
  const bool is_none = worker->suspicion == job_event::suspicion::none;
  worker->suspicion_reason = is_none ? std::string() : event.reason;
}

/// Marks the workers that were told to end as stopped: their ends have no records.
ELASTIC_DECL void job_state::apply_stopped(const journal_record& record) {
  if (record.event.seconds) stops_.add(*record.event.seconds);
  if (!attempts_.empty()) {
    attempts_.back().stop_seconds = record.event.seconds.value_or(0);
    attempts_.back().stop_allowed = record.event.allowed;
  }
  if (will_restart_) activity_ = agent_activity::restarting;
  if (will_restart_ && use_ == time_use::stop) use_time(time_use::wait, record.time_us);
  // They meet nobody, so that no rendezvous follows.
  if (!pause_.empty() && backend_ == "replicas") rest(record);
  for (job_worker& worker : workers_) {
    if (worker.state != job_worker::condition::running) continue;
    worker.state = job_worker::condition::stopped;
    worker.ended_us = record.time_us;
    worker.changed = sequence_;
  }
}

/// Only the first of these events ends the attempt: it is the cause, and the rest are consequences.
ELASTIC_DECL void job_state::end_attempt(const journal_record& record, attempt_end end) {
  if (!is_open_ || attempts_.back().end != attempt_end::none) return;
  job_attempt& attempt = attempts_.back();
  attempt.end = end;
  attempt.ended_us = record.time_us;
  attempt.work_seconds = attempt.started_us == 0
                             ? 0
                             : seconds_between(attempt.started_us, attempt.ended_us);
  if (has_steps_ && attempt.started_us > 0 && attempt.reached_us == 0) {
    add_lost_time(record.time_us);
  }
  const bool is_worker = record.event.rank.has_value();
  if (is_worker && end != attempt_end::success) attempt.failed_rank = record.event.rank;
  attempt.reason = record.event.reason;
  if (is_worker && end == attempt_end::failure) attempt.reason = end_text(record.event);
  if (is_worker && end == attempt_end::hang) {
    attempt.reason = fmt::format("rank {} was hung: {}", *record.event.rank, record.event.reason);
  }
  ++ends_[static_cast<std::size_t>(end)];
  if (end == attempt_end::success) return use_time(time_use::exit_barrier, record.time_us);
  if (is_working()) {
    is_last_step_open_ = use_ == time_use::training;
    use_time(time_use::stop, record.time_us);
  }
  activity_ = agent_activity::stopping;
  reason_ = attempt.reason;
}

ELASTIC_DECL void job_state::decide(const journal_record& record) {
  end_attempt(record, attempt_end::failure);
  is_open_ = false;
  will_restart_ = record.event.kind == job_event::type::restart_decided;
  if (!attempts_.empty()) attempts_.back().decision = record.event.reason;
  if (!attempts_.empty()) attempts_.back().is_restarted = will_restart_;
  if (!will_restart_) return;
  activity_ = agent_activity::restarting;
  const bool is_over = std::none_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker.state == job_worker::condition::running;
  });
  if (use_ == time_use::stop && is_over) use_time(time_use::wait, record.time_us);
}

ELASTIC_DECL void job_state::end_agent(const journal_record& record) {
  use_time(use_, record.time_us);
  is_last_step_open_ = false;
  const std::string& state = record.event.state;
  activity_ = state == "succeeded" ? agent_activity::succeeded
              : state == "stopped" ? agent_activity::stopped
                                   : agent_activity::failed;
  reason_ = record.event.reason;
  is_open_ = false;
}

ELASTIC_DECL void job_state::use_time(time_use use, std::int64_t now_us) {
  used_[static_cast<std::size_t>(use_)] += seconds_between(use_began_us_, now_us);
  if (use_ == time_use::training) {
    trained_from_us_ = use_began_us_;
    trained_to_us_ = now_us;
  }
  use_ = use;
  use_began_us_ = now_us;
}

/// Counts the work since then as lost: it has to be done again.
ELASTIC_DECL void job_state::lose_last_step(std::int64_t from_us) {
  is_last_step_open_ = false;
  if (attempts_.empty()) return;
  const double span = seconds_between(std::max(from_us, trained_from_us_), trained_to_us_);
  trained_to_us_ = trained_from_us_;
  const bool stood_still = is_stalled_ || attempts_.back().end == attempt_end::hang;
  used_[static_cast<std::size_t>(time_use::training)] -= span;
  used_[static_cast<std::size_t>(stood_still ? time_use::stall : time_use::rollback)] += span;
}

ELASTIC_DECL std::pair<std::int64_t, std::int64_t> job_state::revocable(
    std::int64_t now_us) const {
  if (is_last_step_open_) return {trained_from_us_, trained_to_us_};
  const bool is_at_work = use_ == time_use::training && !has_ended();
  return {is_at_work ? use_began_us_ : now_us, now_us};
}

ELASTIC_DECL double job_state::seconds(time_use use, std::int64_t now_us) const {
  const bool goes_on = use == use_ && !has_ended() && began_us_ != 0;
  return used_[static_cast<std::size_t>(use)] +
         (goes_on ? seconds_between(use_began_us_, now_us) : 0);
}

ELASTIC_DECL double job_state::all_seconds(std::int64_t now_us) const {
  double whole = 0;
  for (std::size_t use = 0; use < used_.size(); ++use) {
    whole += seconds(static_cast<time_use>(use), now_us);
  }
  return whole;
}

ELASTIC_DECL job_state state_of(const std::vector<journal_record>& records) {
  job_state state;
  for (const journal_record& record : records) state.take(record);
  return state;
}

}  // namespace elastic::detail

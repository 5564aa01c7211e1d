// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/detail/seconds_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The steps of a run, by the event that begins each. Other events begin none.
inline constexpr auto run_steps = std::to_array<std::pair<job_event::type, std::string_view>>({
    {job_event::type::agent_started, "beginning"},
    {job_event::type::rendezvous_started, "joining a round"},
    {job_event::type::round_joined, "preparing the workers"},
    {job_event::type::workers_starting, "starting the workers"},
    {job_event::type::workers_started, "the workers run"},
    {job_event::type::workers_judged, "the outcome of the workers is known"},
    {job_event::type::round_ended, "the round has ended"},
    {job_event::type::restart_decided, "restarting"},
    {job_event::type::failure_decided, "giving up"},
    {job_event::type::job_paused, "paused"},
    {job_event::type::job_resumed, "resuming"},
    {job_event::type::workers_stopping, "stopping the workers"},
    {job_event::type::workers_stopped, "the workers are stopped"},
    {job_event::type::exit_barrier_started, "waiting for the other nodes at the exit barrier"},
    {job_event::type::exit_barrier_ended, "leaving the job"},
    {job_event::type::agent_ended, "closing files and guests"},
});

/// The current activity of an agent's run and of its workers, with start times, derived from the
/// events of its journal: for `dump` and `job::view`. A plain value without clocks.
struct run_activity {
  struct worker {
    std::int64_t rank = 0;
    std::int64_t pid = 0;
    time_point since;
    bool is_running = true;
    /// How it ended; empty while it runs, and if the agent stopped it.
    std::optional<exit_status> end = {};
    /// The reason why it is hung; empty: it is not.
    std::string hung = {};
  };
  struct sent_signal {
    std::int64_t number = 0;
    std::string reason = {};
    std::optional<double> grace = {};
    time_point since;
  };

  std::string_view step = "not begun";
  std::string reason = {};
  /// The start of the step; zero: unknown.
  time_point since{};
  bool is_joining = false;
  worker_state state = worker_state::init;
  bool has_ended = false;
  /// The round that was joined last; -1: none.
  std::int64_t round = -1;
  std::int64_t group_rank = 0;
  std::int64_t group_world_size = 0;
  std::int64_t world_size = 0;
  std::int64_t restarts = 0;
  std::int64_t max_restarts = 0;
  std::optional<sent_signal> request = {};
  /// The signal that was sent to the workers that have not ended.
  std::optional<sent_signal> stop = {};
  /// By local rank.
  std::vector<worker> workers = {};

  void take(const job_event& event, time_point now);

  /// The run has returned, or its context was destroyed, which killed its workers.
  void end(time_point now);

  /// Several lines of readable text, each with its line end.
  /// @param meeting  the number of nodes and the place where they meet; empty: omitted
  std::string text(time_point now, std::string_view meeting = {}) const;

 private:
  void begin(std::string_view next_step, time_point now);
  void join_round(const job_event& event);
  void start_workers(const job_event& event, time_point now);
  void replace_worker(const job_event& event, time_point now);
  void stop_workers(time_point now);
  worker* find_worker(const job_event& event);
  std::string text_of(const worker& entry, time_point now) const;
};

/// Follows the journal of a run, even while the strand of the run does not answer.
///
/// Thread-safety: any thread.
class run_monitor final : public journal_sink {
 public:
  /// @param meeting  as for `run_activity::text`
  explicit run_monitor(std::string meeting = {}) : meeting_(std::move(meeting)) {}

  void begin(std::shared_ptr<time_source> time) {
    const std::lock_guard lock(mutex_);
    time_ = std::move(time);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    activity_.end(time_->now());
  }
  void take(const journal_record& record) override {
    const std::lock_guard lock(mutex_);
    activity_.take(record.event, time_->now());
  }

  run_activity activity() const {
    const std::lock_guard lock(mutex_);
    return activity_;
  }

  /// @param type  the type of the object that the run belongs to
  /// @param waiting  the number of requests that the run has not taken
  std::string text(std::string_view type, std::size_t waiting) const {
    const std::lock_guard lock(mutex_);
    const time_point now = time_ ? time_->now() : time_point();
    std::string text = fmt::format("{}: {}", type, activity_.text(now, meeting_));
    if (waiting > 0) text += fmt::format("  requests that its strand has not taken: {}\n", waiting);
    return text;
  }

 private:
  const std::string meeting_;
  mutable std::mutex mutex_;
  /// Null: the run has not begun.
  std::shared_ptr<time_source> time_;
  run_activity activity_;
};

/// Lets a monitor follow the journal of a run until the run returns or its context is destroyed.
class monitor_scope {
 public:
  monitor_scope(std::shared_ptr<job_journal> journal, std::shared_ptr<time_source> time,
                std::shared_ptr<run_monitor> monitor)
      : journal_(std::move(journal)), monitor_(std::move(monitor)) {
    monitor_->begin(std::move(time));
    journal_->add(monitor_);
  }
  ~monitor_scope() {
    journal_->remove(monitor_);
    monitor_->end();
  }
  monitor_scope(const monitor_scope&) = delete;
  monitor_scope& operator=(const monitor_scope&) = delete;

 private:
  const std::shared_ptr<job_journal> journal_;
  const std::shared_ptr<run_monitor> monitor_;
};

inline worker_state state_of_end(std::string_view name) {
  if (name == "succeeded") return worker_state::succeeded;
  return name == "stopped" ? worker_state::stopped : worker_state::failed;
}

inline exit_status end_of_worker(const job_event& event) {
  if (event.exit_code) return exit_status::exited(static_cast<int>(*event.exit_code));
  if (event.signal) return exit_status::signalled(static_cast<int>(*event.signal));
  return exit_status::unknown();
}

inline void run_activity::take(const job_event& event, time_point now) {
  using type = job_event::type;
  // The journal may have records of an earlier run.
  if (event.kind == type::agent_started) *this = run_activity();
  round = event.round.value_or(round);
  max_restarts = event.max_restarts.value_or(max_restarts);
  for (const auto& [kind, begun] : run_steps) {
    if (kind != event.kind) continue;
    begin(begun, now);
    reason = event.state;
    if (!event.state.empty() && !event.reason.empty()) reason += ": ";
    reason += event.reason;
    is_joining = kind == type::rendezvous_started;
  }
  switch (event.kind) {
    case type::round_joined: return join_round(event);
    case type::workers_started: return start_workers(event, now);
    case type::ranks_replaced: return replace_worker(event, now);
    case type::worker_hung:
      if (worker* const hung = find_worker(event)) {
        hung->hung = event.reason;
        hung->since = now;
      }
      return;
    case type::worker_ended:
      if (worker* const ended = find_worker(event)) {
        *ended = {ended->rank, ended->pid, now, false, end_of_worker(event)};
      }
      return;
    case type::stop_requested:
      request = sent_signal{event.signal.value_or(0), event.reason, {}, now};
      return;
    case type::workers_stopping:
      stop = sent_signal{event.signal.value_or(0), {}, event.allowed, now};
      return;
    case type::workers_stopped: return stop_workers(now);
    case type::workers_judged: state = state_of_end(event.state); return;
    case type::round_ended: state = worker_state::init; return;
    // Other events count failures, also those that are no reason to restart.
    case type::restart_decided: restarts = event.restarts.value_or(restarts); return;
    case type::agent_ended:
      state = state_of_end(event.state);
      has_ended = true;
      return;
    default: return;
  }
}

inline void run_activity::end(time_point now) {
  begin("ended", {});
  if (has_ended) return;
  has_ended = true;
  state = worker_state::stopped;
  stop_workers(now);
}

inline void run_activity::begin(std::string_view next_step, time_point now) {
  step = next_step;
  reason.clear();
  since = now;
  is_joining = false;
}

inline void run_activity::join_round(const job_event& event) {
  group_rank = event.group_rank.value_or(0);
  group_world_size = event.group_world_size.value_or(0);
  world_size = event.world_size.value_or(0);
}

inline void run_activity::start_workers(const job_event& event, time_point now) {
  join_round(event);
  state = worker_state::healthy;
  stop.reset();
  workers.clear();
  for (std::size_t place = 0; place < event.pids.size(); ++place) {
    const auto rank = event.base_rank.value_or(0) + static_cast<std::int64_t>(place);
    workers.push_back({rank, event.pids[place], now});
  }
}

/// A replica restarts alone, while the others run.
inline void run_activity::replace_worker(const job_event& event, time_point now) {
  if (!event.pid) return;
  for (worker& each : workers) {
    if (each.rank == event.rank) each = {each.rank, *event.pid, now};
  }
  begin("the workers run", now);
}

inline void run_activity::stop_workers(time_point now) {
  stop.reset();
  for (worker& each : workers) {
    if (each.is_running) each = {each.rank, each.pid, now, false};
  }
}

inline run_activity::worker* run_activity::find_worker(const job_event& event) {
  for (worker& each : workers) {
    if (each.pid == event.pid) return &each;
  }
  return nullptr;
}

inline std::string run_activity::text(time_point now, std::string_view meeting) const {
  std::string text(step);
  if (!reason.empty()) text += fmt::format(" ({})", reason);
  text += since == time_point() ? "\n" : fmt::format(" for {}\n", seconds_text(now - since));
  if (is_joining && !meeting.empty()) text += fmt::format("  {}\n", meeting);
  if (round >= 0) {
    text += fmt::format("  round {}, node {} of {}; restarts: {} of {}\n", round, group_rank,
                        group_world_size, restarts, max_restarts);
  }
  if (request) {
    text += fmt::format("  asked to stop {} ago, with {}: {}\n", seconds_text(now - request->since),
                        signal_name(static_cast<int>(request->number)), request->reason);
  }
  for (const worker& each : workers) text += text_of(each, now);
  return text;
}

inline std::string run_activity::text_of(const worker& entry, time_point now) const {
  std::string shown = entry.is_running ? "runs" : "stopped";
  if (!entry.hung.empty()) shown = "hung: " + entry.hung;
  if (entry.end) shown = entry.end->text();
  std::string text = fmt::format("  rank {}, pid {}: {} for {}", entry.rank, entry.pid, shown,
                                 seconds_text(now - entry.since));
  if (stop && entry.is_running) {
    text += fmt::format(", {} {} ago", signal_name(static_cast<int>(stop->number)),
                        seconds_text(now - stop->since));
    if (stop->grace) text += fmt::format(" with {:.1f} s until SIGKILL", *stop->grace);
  }
  return text + '\n';
}

}  // namespace elastic::detail

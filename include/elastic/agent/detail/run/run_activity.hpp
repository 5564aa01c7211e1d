// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

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

/// The activity of a run of an agent, its workers, and since when, as the events of its journal
/// tell it. A plain value without clocks.
class run_activity {
 public:
  void take(const job_event& event, time_point now);

  /// The run has returned.
  void end() { begin("ended", {}); }

  /// Several lines for people, each with its line end.
  /// @param meeting  how many nodes meet and where; empty: it is not said
  std::string text(time_point now, std::string_view meeting = {}) const;

 private:
  struct worker {
    std::int64_t rank = 0;
    std::int64_t pid = 0;
    time_point since;
    /// How it ended, or why it is hung; empty: it runs.
    std::string state = {};
    bool has_ended = false;
  };
  struct sent_signal {
    std::int64_t number = 0;
    std::string reason = {};
    std::optional<double> grace = {};
    time_point since;
  };

  void begin(std::string_view step, time_point now);
  void start_workers(const job_event& event, time_point now);
  void replace_worker(const job_event& event, time_point now);
  void change_worker(const job_event& event, std::string state, time_point now);
  static std::string end_of(const job_event& event);
  std::string text_of(const worker& entry, time_point now) const;

  std::string_view step_ = "not begun";
  std::string reason_;
  /// The start of the step; zero: none was told.
  time_point since_{};
  bool is_joining_ = false;
  std::int64_t round_ = -1;
  std::int64_t group_rank_ = 0;
  std::int64_t nodes_ = 0;
  std::int64_t restarts_ = 0;
  std::int64_t max_restarts_ = 0;
  std::optional<sent_signal> request_;
  /// Sent to the workers that have not ended.
  std::optional<sent_signal> stop_;
  std::vector<worker> workers_;
};

/// Follows the journal of a run for `dump`, even while the strand of the run does not answer.
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
    activity_.end();
  }
  void take(const journal_record& record) override {
    const std::lock_guard lock(mutex_);
    activity_.take(record.event, time_->now());
  }

  /// @param type     what the run belongs to
  /// @param waiting  how many requests the run has not taken
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

/// Lets a monitor follow the journal of a run until the run returns.
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

inline void run_activity::take(const job_event& event, time_point now) {
  using type = job_event::type;
  // The journal may have records of an earlier run.
  if (event.kind == type::agent_started) *this = run_activity();
  if (event.round) round_ = *event.round;
  restarts_ = event.restarts.value_or(restarts_);
  max_restarts_ = event.max_restarts.value_or(max_restarts_);
  for (const auto& [kind, step] : run_steps) {
    if (kind != event.kind) continue;
    begin(step, now);
    reason_ = event.state;
    if (!event.state.empty() && !event.reason.empty()) reason_ += ": ";
    reason_ += event.reason;
    is_joining_ = kind == type::rendezvous_started;
  }
  switch (event.kind) {
    case type::round_joined:
      group_rank_ = event.group_rank.value_or(0);
      nodes_ = event.group_world_size.value_or(0);
      break;
    case type::workers_started: start_workers(event, now); break;
    case type::ranks_replaced: replace_worker(event, now); break;
    case type::worker_hung: change_worker(event, "hung: " + event.reason, now); break;
    case type::worker_ended: change_worker(event, end_of(event), now); break;
    case type::stop_requested:
      request_ = sent_signal{event.signal.value_or(0), event.reason, {}, now};
      break;
    case type::workers_stopping:
      stop_ = sent_signal{event.signal.value_or(0), {}, event.allowed, now};
      break;
    case type::workers_stopped:
      stop_.reset();
      for (worker& each : workers_) {
        if (!each.has_ended) each = {each.rank, each.pid, now, "stopped", true};
      }
      break;
    default: break;
  }
}

inline void run_activity::begin(std::string_view step, time_point now) {
  step_ = step;
  reason_.clear();
  since_ = now;
  is_joining_ = false;
}

inline void run_activity::start_workers(const job_event& event, time_point now) {
  stop_.reset();
  workers_.clear();
  for (std::size_t place = 0; place < event.pids.size(); ++place) {
    const auto rank = event.base_rank.value_or(0) + static_cast<std::int64_t>(place);
    workers_.push_back({rank, event.pids[place], now});
  }
}

/// A replica restarts alone, while the others run.
inline void run_activity::replace_worker(const job_event& event, time_point now) {
  if (!event.pid) return;
  for (worker& each : workers_) {
    if (each.rank == event.rank) each = {each.rank, *event.pid, now};
  }
  begin("the workers run", now);
}

inline void run_activity::change_worker(const job_event& event, std::string state, time_point now) {
  for (worker& each : workers_) {
    if (each.pid != event.pid) continue;
    each = {each.rank, each.pid, now, state, event.kind == job_event::type::worker_ended};
  }
}

inline std::string run_activity::end_of(const job_event& event) {
  if (event.exit_code) return exit_status::exited(static_cast<int>(*event.exit_code)).text();
  if (event.signal) return exit_status::signalled(static_cast<int>(*event.signal)).text();
  return exit_status::unknown().text();
}

inline std::string run_activity::text(time_point now, std::string_view meeting) const {
  std::string text(step_);
  if (!reason_.empty()) text += fmt::format(" ({})", reason_);
  text += since_ == time_point() ? "\n" : fmt::format(" for {}\n", seconds_text(now - since_));
  if (is_joining_ && !meeting.empty()) text += fmt::format("  {}\n", meeting);
  if (round_ >= 0) {
    text += fmt::format("  round {}, node {} of {}; restarts: {} of {}\n", round_, group_rank_,
                        nodes_, restarts_, max_restarts_);
  }
  if (request_) {
    text +=
        fmt::format("  asked to stop {} ago, with {}: {}\n", seconds_text(now - request_->since),
                    signal_name(static_cast<int>(request_->number)), request_->reason);
  }
  for (const worker& each : workers_) text += text_of(each, now);
  return text;
}

inline std::string run_activity::text_of(const worker& entry, time_point now) const {
  std::string text =
      fmt::format("  rank {}, pid {}: {} for {}", entry.rank, entry.pid,
                  entry.state.empty() ? "runs" : entry.state, seconds_text(now - entry.since));
  if (stop_ && !entry.has_ended) {
    text += fmt::format(", {} {} ago", signal_name(static_cast<int>(stop_->number)),
                        seconds_text(now - stop_->since));
    if (stop_->grace) text += fmt::format(" with {:.1f} s until SIGKILL", *stop_->grace);
  }
  return text + '\n';
}

}  // namespace elastic::detail

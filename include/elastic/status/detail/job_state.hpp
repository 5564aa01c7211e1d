// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The activity of an agent.
enum class agent_activity {
  starting,
  meeting,
  paused,
  running,
  stopping,
  restarting,
  finishing,
  succeeded,
  failed,
  stopped,
};
inline constexpr std::array<std::string_view, 10> agent_activity_names{
    "starting",   "rendezvous",   "paused",    "running", "stopping",
    "restarting", "exit_barrier", "succeeded", "failed",  "stopped"};

constexpr std::string_view to_string(agent_activity activity) {
  return agent_activity_names[static_cast<std::size_t>(activity)];
}

/// The activity of an agent between two events, by its name in traces.
enum class agent_phase { rendezvous, start, work, stop, wait, exit_barrier, rest };
inline constexpr std::array<std::string_view, 7> agent_phase_names{
    "rendezvous", "start", "work", "stop", "wait before restart", "exit barrier", "rest"};

constexpr std::string_view to_string(agent_phase phase) {
  return agent_phase_names[static_cast<std::size_t>(phase)];
}

/// The time between two times of day, in seconds; a clock that was set makes it no less than 0.
constexpr double seconds_between(std::int64_t from_us, std::int64_t to_us) {
  const double span = (static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6;
  return span > 0 ? span : 0;
}

/// The use of an agent's time. Only `training` is productive.
enum class time_use {
  /// The workers do what no attempt has done before. If they report no steps: they run.
  training,
  /// The nodes meet, or the job pauses.
  rendezvous,
  /// Until the workers run; if they report steps, until the first one of the attempt.
  start,
  /// Until no worker is left that has to end.
  stop,
  exit_barrier,
  /// The workers repeat steps, or worked on one when their attempt ended.
  rollback,
  /// The workers made no progress, as was found out, or were hung.
  stall,
  /// A pause before a restart.
  wait,
};
inline constexpr std::array<std::string_view, 8> time_use_names{
    "productive", "rendezvous", "start", "stop", "exit_barrier", "rollback", "stall", "wait"};

/// Why an attempt ended.
enum class attempt_end { none, success, failure, hang, membership, request };
inline constexpr std::array<std::string_view, 6> attempt_end_names{"",     "success",    "failure",
                                                                   "hang", "membership", "request"};

/// Durations in seconds, counted as Prometheus does.
struct duration_histogram {
  static constexpr std::array<double, 12> bounds{0.01, 0.05, 0.1, 0.5,  1,   2.5,
                                                 5,    10,   30,  120., 600, 1800};
  /// For each bound, the number of durations up to it and above the bound before.
  std::array<std::int64_t, bounds.size()> counts{};
  std::int64_t count = 0;
  double sum = 0;

  ELASTIC_DECL void add(double seconds);
};

/// Whether the worker of a worker_ended event succeeded.
inline bool has_succeeded(const job_event& event) {
  return event.exit_code == 0 || event.state == "succeeded";
}

/// A worker in the last attempt of its node.
struct job_worker {
  enum class condition { waiting, running, succeeded, failed, hung, stopped };

  std::int64_t rank = -1;
  std::int64_t local_rank = 0;
  std::int64_t pid = 0;
  condition state = condition::waiting;
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  /// Why it ended, as far as somebody said so. Text of the worker's, which may be hostile.
  std::string reason = {};
  std::int64_t ended_us = 0;
  /// Whether it seems to hold up the others, and why.
  job_event::suspicion suspicion = job_event::suspicion::none;
  std::string suspicion_reason = {};
  /// The number of times that its rank got a new process while other workers continued.
  std::int64_t replacements = 0;
  /// The numbers of the record that gave it its place, which tells it from those before, and of the
  /// last one that changed it.
  std::int64_t placed = 0;
  std::int64_t changed = 0;

  bool is_suspected() const {
    return state == condition::running && suspicion != job_event::suspicion::none;
  }
};
inline constexpr std::array<std::string_view, 6> worker_condition_names{
    "waiting", "running", "succeeded", "failed", "hung", "stopped"};

/// One life of the worker group of this node, or the wait for it.
struct job_attempt {
  /// The round of the rendezvous, from 0; -1: none was joined yet.
  std::int64_t round = -1;
  /// The number of failures before this attempt.
  std::int64_t number = 0;
  std::int64_t world_size = 0;
  std::int64_t nodes = 0;
  /// The times at which it began, its workers ran, and the attempt ended; 0: not yet.
  std::int64_t began_us = 0;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;
  attempt_end end = attempt_end::none;
  std::string reason = {};
  /// The first worker of this node that failed.
  std::optional<std::int64_t> failed_rank = {};
  /// Its error, and the last lines of its stderr, as the worker wrote them.
  std::string cause = {};
  std::string last_lines = {};
  /// The decision that followed.
  std::string decision = {};
  /// The cost of its end: until workers ran again, and if they report steps, until they reached
  /// their furthest one again, or the next attempt ended. Empty: they do not run, or not yet.
  std::optional<double> lost_seconds = {};
  /// Workers of the attempt before went on in it, and these ranks of this node were replaced.
  bool is_replacement = false;
  std::vector<std::int64_t> replaced = {};

  // ---- for `explain`; documents leave this out ----

  /// The time at which this node joined the round, and its wait before that; empty: not yet.
  std::int64_t joined_us = 0;
  std::optional<double> met_seconds = {};
  /// The number of workers that this node started; 0: none yet.
  std::int64_t workers = 0;
  /// The cause of the round's end, the state of round_ended; none: it ended in another way.
  std::optional<std::string> change = {};
  /// The failure that ended the round was another node's.
  bool is_elsewhere = false;
  /// The events of workers that failed, and of those that were hung, in the order of time, as far
  /// as they are kept (`state_bounds::failures`).
  std::vector<job_event> failures = {};
  std::vector<job_event> hung = {};
  /// The same of stalls that this node has found, the only one that knows why.
  std::vector<job_event> stalls = {};
  /// The workers were killed, because other nodes might go on without this one.
  bool is_fenced = false;
  /// Whether a restart was decided; empty: nothing was.
  std::optional<bool> is_restarted = {};
  /// The duration of the workers' stop, and its limit; empty: none had to be stopped.
  std::optional<double> stop_seconds = {};
  std::optional<double> stop_allowed = {};
  /// The time for which the workers ran, and the furthest step of the attempt.
  double work_seconds = 0;
  std::optional<std::int64_t> step = {};
  /// From the end of the attempt before until its furthest step was reached again; of the first
  /// attempt, from the start of the workers to their first step. Empty: no worker has reported it.
  std::optional<double> reached_seconds = {};
  /// The time of that, and the time of the workers' stop; 0: not yet, or never.
  std::int64_t reached_us = 0;
  std::int64_t stopping_us = 0;

  /// The root cause of a failure that began on this node; null: there is none, or its event was not
  /// kept. A hung worker precedes the failures, since it fails only when it is killed.
  ELASTIC_DECL const job_event* root_cause() const;
};

/// The account of ranks that were replaced while other workers of the job continued.
struct job_replacements {
  /// The job runs with `failure_policy::replace`.
  bool is_on = false;
  /// The rounds in which workers of this node continued, and the ranks replaced in these.
  std::int64_t epochs = 0;
  std::int64_t ranks = 0;
  std::map<std::int64_t, std::int64_t> by_rank = {};
  /// Until the workers of this node were in the new round.
  duration_histogram durations = {};
  /// The number of restarts of all workers instead, and the reason for the last.
  std::int64_t abandoned = 0;
  std::string last_obstacle = {};

  /// Whether there is anything to be shown.
  bool is_known() const { return is_on || epochs > 0 || abandoned > 0; }
};

/// The standbys of a node, as they were told last.
struct job_standbys {
  std::int64_t ready = 0;
  std::int64_t making = 0;
  /// The memory of those that are ready.
  std::int64_t bytes = 0;
  /// The most that were ready at the same time, and the most memory.
  std::int64_t most_ready = 0;
  std::int64_t most_bytes = 0;
};

/// The vault of a node, as it was told last.
struct job_vault {
  /// The newest complete generation: its number, its step, and when it was told; 0: none.
  std::int64_t generation = 0;
  std::int64_t step = 0;
  std::int64_t complete_us = 0;
  std::int64_t skipped = 0;
  std::int64_t bytes = 0;
  std::int64_t restores = 0;
};

/// The bounds of a job_state.
struct state_bounds {
  /// The oldest are forgotten.
  std::size_t attempts = limits::viewed_attempts;
  /// The events that are kept of an attempt: so many failures of workers, as many hangs, and
  /// as many stalls.
  std::size_t failures = 0;
};

/// The state of a job as the journal of one agent tells it: the one fold over its records. A
/// `job_view` adds what workers and other nodes report; `explain` and traces are functions of this
/// alone. A plain value without clocks; bounded, whatever it is told.
///
/// Thread-safety: one thread at a time.
class job_state {
 public:
  job_state() = default;
  explicit job_state(state_bounds bounds) : bounds_(bounds) {}

  /// Takes the next record. A record of another epoch begins a new state. A record that was taken
  /// before is ignored.
  /// Result: whether it was taken
  ELASTIC_DECL bool take(const journal_record& record);

  agent_activity activity() const { return activity_; }
  bool has_ended() const { return activity_ >= agent_activity::succeeded; }
  /// The reason for its activity; empty if there is none.
  const std::string& reason() const { return reason_; }
  /// The activity of the agent, whatever its workers do; `rest` before its first record.
  agent_phase phase() const { return phase_; }

  /// The last stall_found; empty: none was. And whether the job still stands still.
  const std::optional<journal_record>& stall() const { return stall_; }
  bool is_stalled() const { return is_stalled_; }

  const job_replacements& replacements() const { return replacements_; }
  /// The standbys of this node; empty if the job has made none.
  const std::optional<job_standbys>& standbys() const { return standbys_; }

  /// Empty: the job has kept nothing in one.
  const std::optional<job_vault>& vault() const { return vault_; }

  /// The last record that was taken; 0: none.
  std::int64_t epoch() const { return epoch_; }
  std::int64_t sequence() const { return sequence_; }

  const std::string& node() const { return node_; }
  const std::string& run_id() const { return run_id_; }
  const std::string& backend() const { return backend_; }
  /// The role of its workers.
  const std::string& role() const { return role_; }
  /// The role of a job of several that the agent runs; empty: there is only one.
  const std::string& role_of_job() const { return role_of_job_; }
  /// The place of this node in the round; -1: none yet.
  std::int64_t group_rank() const { return group_rank_; }
  std::int64_t base_rank() const { return base_rank_; }
  std::int64_t restarts() const { return restarts_; }
  std::int64_t max_restarts() const { return max_restarts_; }

  /// The newest last.
  const std::deque<job_attempt>& attempts() const { return attempts_; }
  /// The round of the newest attempt; -1: none yet.
  std::int64_t round() const { return attempts_.empty() ? -1 : attempts_.back().round; }
  /// Indexed by local rank.
  const std::vector<job_worker>& workers() const { return workers_; }

  /// The start of the agent, in microseconds since 1970.
  std::int64_t began_us() const { return began_us_; }
  /// The last record that was taken, in microseconds since 1970.
  std::int64_t last_us() const { return last_us_; }
  /// The seconds of one use of time up to `now_us`; and the sum of all uses.
  ELASTIC_DECL double seconds(time_use use, std::int64_t now_us) const;
  ELASTIC_DECL double all_seconds(std::int64_t now_us) const;
  /// The begin and the end of the last productive time. If its last step is lost, the time spent on
  /// that step is taken back. Both are equal if there is no such time.
  ELASTIC_DECL std::pair<std::int64_t, std::int64_t> revocable(std::int64_t now_us) const;
  /// Whether workers of this node have reported steps. Without them, all the time for which workers
  /// ran is productive, unless a stall was found.
  bool has_steps() const { return has_steps_; }

  /// Ends of attempts by their cause, and of workers by "exit:1" or "signal:9".
  const std::array<std::int64_t, 6>& ends() const { return ends_; }
  const std::map<std::string, std::int64_t>& exits() const { return exits_; }
  const duration_histogram& rendezvous_durations() const { return rendezvous_; }
  const duration_histogram& start_durations() const { return starts_; }
  const duration_histogram& stop_durations() const { return stops_; }

 private:
  ELASTIC_DECL void begin_run(const journal_record& record);
  ELASTIC_DECL void apply(const journal_record& record);
  ELASTIC_DECL void keep(std::vector<job_event> job_attempt::*kept, const job_event& event);
  ELASTIC_DECL void add_attempt(const journal_record& record);
  ELASTIC_DECL void rest(const journal_record& record);
  ELASTIC_DECL void show_meeting();
  ELASTIC_DECL void open_attempt(const journal_record& record);
  ELASTIC_DECL void place_worker(std::size_t place);
  ELASTIC_DECL void join_round(const journal_record& record);
  ELASTIC_DECL void start_workers(const journal_record& record);
  ELASTIC_DECL void end_worker(const journal_record& record);
  ELASTIC_DECL void apply_hung(const journal_record& record);
  ELASTIC_DECL void suspect(const job_event& event);
  ELASTIC_DECL void apply_stall(const journal_record& record);
  ELASTIC_DECL void mark_first_step();
  ELASTIC_DECL void apply_reached_step(const journal_record& record);
  ELASTIC_DECL void add_lost_time(std::int64_t now_us);
  ELASTIC_DECL void restart_replica(const journal_record& record);
  ELASTIC_DECL void apply_replacement(const job_event& event);
  ELASTIC_DECL void show_replacements();
  ELASTIC_DECL void apply_standbys(const job_event& event);
  ELASTIC_DECL void apply_vault(const journal_record& record);
  ELASTIC_DECL void apply_stopped(const journal_record& record);
  ELASTIC_DECL void end_attempt(const journal_record& record, attempt_end end);
  ELASTIC_DECL void decide(const journal_record& record);
  ELASTIC_DECL void end_agent(const journal_record& record);
  ELASTIC_DECL void use_time(time_use use, std::int64_t now_us);
  ELASTIC_DECL void lose_last_step(std::int64_t from_us);
  bool is_working() const {
    return use_ == time_use::training || use_ == time_use::rollback || use_ == time_use::stall;
  }
  ELASTIC_DECL job_worker* changed_worker(const job_event& event);

  state_bounds bounds_;
  agent_activity activity_ = agent_activity::starting;
  agent_phase phase_ = agent_phase::rest;
  std::string reason_;
  /// Why the job pauses, or is about to; empty: it does not.
  std::string pause_;
  std::optional<journal_record> stall_;
  bool is_stalled_ = false;
  job_replacements replacements_;
  std::optional<job_standbys> standbys_;
  std::optional<job_vault> vault_;
  std::int64_t epoch_ = 0;
  std::int64_t sequence_ = 0;
  std::string node_;
  std::string run_id_;
  std::string backend_;
  std::string role_;
  std::string role_of_job_;
  std::int64_t group_rank_ = -1;
  std::int64_t base_rank_ = 0;
  std::int64_t restarts_ = 0;
  std::int64_t max_restarts_ = 0;
  std::deque<job_attempt> attempts_;
  /// Whether the last attempt goes on.
  bool is_open_ = false;
  bool is_stopping_ = false;
  bool will_restart_ = false;
  std::vector<job_worker> workers_;
  std::int64_t began_us_ = 0;
  std::int64_t last_us_ = 0;
  time_use use_ = time_use::start;
  std::int64_t use_began_us_ = 0;
  /// The use of time that a stall interrupted.
  time_use stalled_use_ = time_use::training;
  /// The last productive time that has ended.
  std::int64_t trained_from_us_ = 0;
  std::int64_t trained_to_us_ = 0;
  /// The attempt has ended, and it is not yet known whether its last step was lost.
  bool is_last_step_open_ = false;
  bool has_steps_ = false;
  std::array<double, time_use_names.size()> used_{};
  std::array<std::int64_t, attempt_end_names.size()> ends_{};
  std::map<std::string, std::int64_t> exits_;
  duration_histogram rendezvous_;
  duration_histogram starts_;
  duration_histogram stops_;
};

/// The role of a job of several whose agent has recorded an event; empty: there is only one.
ELASTIC_DECL std::string role_of_run(const job_event& event);

/// The state after records that were read.
ELASTIC_DECL job_state state_of(const std::vector<journal_record>& records);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_state.ipp>
#endif

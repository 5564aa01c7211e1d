// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// Writes each decision of an agent to the journal, with its round and attempt.
///
/// Thread-safety: the agent's strand.
class agent_journal {
 public:
  /// All arguments must outlive this object.
  ELASTIC_DECL agent_journal(job_journal& journal, const worker_spec& spec,
                             const worker_group& group, time_source& time);

  agent_journal(const agent_journal&) = delete;
  agent_journal& operator=(const agent_journal&) = delete;

  /// The name of this node for messages.
  std::string node() const { return journal_.node().empty() ? host_name() : journal_.node(); }

  // ---- context of later events ------------------------------------------------------------------

  ELASTIC_DECL void begin_round(std::int64_t round);
  /// @param attempt  how often workers had failed when the attempt began
  void begin_attempt(std::int64_t attempt) { attempt_ = attempt; }
  void leave_rounds() { round_.reset(); }

  // ---- the run ----------------------------------------------------------------------------------

  /// Records an event that has only a kind and a reason.
  ELASTIC_DECL void record(job_event::type kind, std::string reason = {});

  ELASTIC_DECL void record_start(std::string run_id, std::string backend);
  ELASTIC_DECL void record_end(worker_state state, std::string reason, time_point began);
  ELASTIC_DECL void record_stop_request(std::string reason, int signal);
  /// Records that workers have not reached `init_process_group`.
  ELASTIC_DECL void record_missing(std::string sentence);
  ELASTIC_DECL void record_fault(const worker_group::worker& victim, int signal,
                                 std::string reason);

  // ---- attempts ---------------------------------------------------------------------------------

  ELASTIC_DECL void record_round(const rendezvous_round& round, const assigned_ranks& ranks,
                                 time_point began);
  /// @param starts  how the workers were started; empty: not counted
  ELASTIC_DECL void record_workers(const rendezvous_round& round, const assigned_ranks& ranks,
                                   const std::optional<run_result::worker_starts>& starts,
                                   time_point began);
  /// @param stepped  the time at which the workers last reported a new step in this epoch; empty:
  ///                 never
  ELASTIC_DECL void record_round_end(const rendezvous_change& change, int failures,
                                     std::optional<time_point> stepped);

  /// Records that workers of the last round continue in this one.
  /// @param change  the change that ended the last round
  /// @param start   how many workers of this node stayed, and which ranks were replaced
  /// @param ended  the time at which this node learned of the end
  ELASTIC_DECL void record_replacement(const rendezvous_change& change,
                                       const agent_part::started_workers& start, time_point ended);
  /// Records that the workers have reported the first step of an epoch, and that an earlier worker
  /// of this node had already reported that step.
  ELASTIC_DECL void record_rollback(std::int64_t step);
  /// Records that the workers have reached the furthest step of any earlier worker of this node.
  ELASTIC_DECL void record_step(std::int64_t step, time_point since);

  /// Records how the workers of a round ended, once for each round.
  ELASTIC_DECL void record_verdict();
  /// @param replaces  the other workers keep their processes, as far as this node knows
  ELASTIC_DECL void record_decision(const restart_ledger::decision& decision, int failures,
                                    bool replaces);
  /// Records the error and output of the worker whose failure ended the attempt, if it ran on this
  /// node.
  ELASTIC_DECL void record_cause();

  ELASTIC_DECL void record_checkpoint(const worker_channels::checkpoint_outcome& outcome,
                                      time_point began);
  ELASTIC_DECL void record_exit_barrier(std::string state, std::string reason, time_point began);

  /// Awaits `stopping`, which stops the workers, and records its duration unless no worker runs.
  /// Errors and cancellation: those of `stopping`.
  ELASTIC_DECL task<void> time_stop(stop_plan plan, task<void> stopping);
  /// Records that the stop that `time_stop` awaits continues by another plan.
  ELASTIC_DECL void change_stop(stop_plan plan);

 private:
  ELASTIC_DECL void record_stopping(stop_plan plan);
  ELASTIC_DECL job_event about(job_event::type kind) const;
  ELASTIC_DECL job_event about_ranks(job_event::type kind, const rendezvous_round& round,
                                     const assigned_ranks& ranks, time_point began) const;
  ELASTIC_DECL double seconds_since(time_point then) const;

  job_journal& journal_;
  const worker_spec& spec_;
  const worker_group& group_;
  time_source& time_;
  /// Empty before the first round and after the last.
  std::optional<std::int64_t> round_;
  std::int64_t attempt_ = 0;
  bool is_judged_ = false;
  /// The stop that is recorded and has not ended.
  std::optional<job_event> stopping_;
  /// The end of the attempt's workers has been noted.
  bool is_stopped_ = true;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/agent_journal.ipp>
#endif

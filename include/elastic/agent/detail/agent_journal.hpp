// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_starts.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// What an agent writes into the journal: each of its decisions, with the round and the attempt
/// that it belongs to.
///
/// Thread-safety: the agent's strand.
class agent_journal {
 public:
  /// All of them must outlive it.
  ELASTIC_DECL agent_journal(job_journal& journal, const worker_spec& spec,
                             const worker_group& group, time_source& time);

  agent_journal(const agent_journal&) = delete;
  agent_journal& operator=(const agent_journal&) = delete;

  /// The name of this node, for people.
  std::string node() const { return journal_.node().empty() ? host_name() : journal_.node(); }

  // ---- what later events belong to --------------------------------------------------------------

  ELASTIC_DECL void begin_round(std::int64_t round);
  /// @param attempt  how often workers had failed when it began
  void begin_attempt(std::int64_t attempt) { attempt_ = attempt; }
  void leave_rounds() { round_.reset(); }

  // ---- the run ----------------------------------------------------------------------------------

  /// An event of which nothing is known but its kind, and why.
  ELASTIC_DECL void note(job_event::type kind, std::string reason = {});

  ELASTIC_DECL void note_start(std::string run_id, std::string backend);
  ELASTIC_DECL void note_end(worker_state state, std::string reason, time_point began);
  ELASTIC_DECL void note_stop_request(std::string reason, int signal);
  ELASTIC_DECL void note_fault(const worker_group::worker& victim, int signal, std::string reason);

  // ---- an attempt -------------------------------------------------------------------------------

  ELASTIC_DECL void note_round(const rendezvous_round& round, const assigned_ranks& ranks,
                               time_point began);
  /// @param starts  how they were started; none: nobody counted that
  ELASTIC_DECL void note_workers(const rendezvous_round& round, const assigned_ranks& ranks,
                                 const std::optional<worker_starts>& starts, time_point began);
  ELASTIC_DECL void note_round_end(const rendezvous_change& change, int failures);

  /// Workers of the last round go on in this one.
  /// @param change  what ended the last one
  /// @param ended   when that was known here
  ELASTIC_DECL void note_replacement(const rendezvous_change& change, time_point ended);
  /// The workers have come as far as any of this node before.
  ELASTIC_DECL void note_step(std::int64_t step, time_point since);

  /// What became of the workers that ran; once for each round.
  ELASTIC_DECL void note_verdict();
  /// @param replaces  the others keep their processes, as far as this node knows
  ELASTIC_DECL void note_decision(const restart_ledger::decision& decision, int failures,
                                  bool replaces);
  /// What the worker left whose failure ended the attempt, if it was one of this node.
  ELASTIC_DECL void note_cause();

  ELASTIC_DECL void note_checkpoint(const checkpoint_outcome& outcome, time_point began);
  ELASTIC_DECL void note_exit_barrier(std::string state, std::string reason, time_point began);

  /// Carries out what stops the workers, and notes how long it takes; nothing, if none is left to
  /// be stopped. Errors and cancellation: those of `stopping`.
  ELASTIC_DECL task<void> time_stop(stop_plan plan, task<void> stopping);

 private:
  ELASTIC_DECL job_event about(job_event::type kind) const;
  ELASTIC_DECL job_event about_ranks(job_event::type kind, const rendezvous_round& round,
                                     const assigned_ranks& ranks, time_point began) const;
  ELASTIC_DECL double seconds_since(time_point then) const;

  job_journal& journal_;
  const worker_spec& spec_;
  const worker_group& group_;
  time_source& time_;
  /// None before the first round, and after the last.
  std::optional<std::int64_t> round_;
  std::int64_t attempt_ = 0;
  bool is_judged_ = false;
  /// That the workers of the attempt are gone is written down.
  bool is_stopped_ = true;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/agent_journal.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/rounds/epoch_record.hpp>
#include <elastic/agent/detail/rounds/round_agreement.hpp>
#include <elastic/agent/detail/run/agent_step.hpp>
#include <elastic/agent/detail/run/job_pause.hpp>
#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/detail/run/worker_run.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// One run of an agent, from its first round to its end. Everything runs on its strand.
class agent_run final : public worker_run {
 public:
  /// @param context  the members that the caller knows: strand, executor, commands, signal
  ELASTIC_DECL agent_run(agent_part::context context, worker_spec spec,
                         rendezvous_factory rendezvous, agent_services services, std::string notice,
                         std::string meeting, bool job_may_grow);

  using worker_run::take;

  /// Queues a request to the workers over the control channel.
  void take(const worker_request& request) { orders_.push(request); }

  ELASTIC_DECL void take(const std::shared_ptr<pending_command>& pending);

 private:
  /// The first part of the agent: the agent itself.
  class own_part;

  ELASTIC_DECL task<void> live(std::optional<run_result>& result) override;
  ELASTIC_DECL void on_stop(const stop_request& request, bool kills) override;
  // The services with the run's own part first, so that the journal has a step before the records
  // that other parts make because of it.
  ELASTIC_DECL static agent_services with_own_part(agent_services services, agent_run& self);

  /// One attempt, from the round that it belongs to. Each round has a new one.
  struct attempt {
    rendezvous_round round;
    /// The change that ends the round; empty while it continues.
    std::optional<rendezvous_change> change;
    /// The other nodes were informed of how the workers ended, as far as they could be.
    bool is_reported = false;
    epoch_record::entry epoch = {};
    /// This node's report about its workers to workers of other roles; empty: none yet.
    std::string places = {};
  };

  // ---- commands ---------------------------------------------------------------------------------

  ELASTIC_DECL void pause(const std::shared_ptr<pending_command>& pending);
  ELASTIC_DECL bool is_between_epochs() const;
  ELASTIC_DECL static bool ends_all(const rendezvous_change& change);
  ELASTIC_DECL void pause_later(const std::shared_ptr<pending_command>& pending);
  ELASTIC_DECL void resume(pending_command& pending);
  ELASTIC_DECL void save_by_command(const std::shared_ptr<pending_command>& pending);
  ELASTIC_DECL void stop_others(const std::string& why, bool saves_first);
  ELASTIC_DECL task<void> save_before_pause();
  ELASTIC_DECL void drain(pending_command& pending);

  // ---- the loop ---------------------------------------------------------------------------------

  ELASTIC_DECL task<run_result> run_to_stop();
  ELASTIC_DECL task<run_result> run_attempts();
  ELASTIC_DECL task<void> kill_at_fence();
  ELASTIC_DECL agent_view look() const;
  ELASTIC_DECL const std::optional<std::string>& bad_node() const;
  ELASTIC_DECL const rendezvous_change* round_end() const;
  ELASTIC_DECL restart_ledger::decision decide(const rendezvous_change& change) const;

  // ---- beginning an attempt ---------------------------------------------------------------------

  ELASTIC_DECL task<void> begin_attempt();
  ELASTIC_DECL task<void> check_node();
  ELASTIC_DECL task<void> join_round_and_start();
  ELASTIC_DECL task<void> meet(std::optional<assigned_ranks>& ranks);
  ELASTIC_DECL task<bool> start_before_fence(rendezvous_round round, assigned_ranks ranks);
  ELASTIC_DECL static task<void> mark_end(task<void> work, bool& has_ended);
  ELASTIC_DECL task<void> report_wait();
  ELASTIC_DECL task<std::optional<assigned_ranks>> join_round();
  ELASTIC_DECL task<void> next_round();
  ELASTIC_DECL task<assigned_ranks> agree_in_round();
  ELASTIC_DECL std::string places_in(const round_agreement& agreed);

  // ---- epochs: workers that outlive a round -----------------------------------------------------

  ELASTIC_DECL task<void> end_epoch();
  ELASTIC_DECL bool may_replace(const restart_ledger::decision& decision, std::size_t failed) const;
  ELASTIC_DECL task<void> end_survivors();

  // ---- while workers run ------------------------------------------------------------------------

  ELASTIC_DECL task<void> watch();
  ELASTIC_DECL task<void> report_missing();
  ELASTIC_DECL task<void> until_round_ends();
  ELASTIC_DECL task<void> wait_for_parts(duration timeout);
  ELASTIC_DECL task<void> run_beside_workers();
  task<void> await_change() { take_change(co_await rendezvous_->wait_for_change()); }
  ELASTIC_DECL void take_change(rendezvous_change change);
  ELASTIC_DECL void log_missing_steps();
  ELASTIC_DECL task<void> report_state();
  void emit_state() { telemetry_.emit_state(group_.state(), spec_.max_restarts - restarts_); }
  ELASTIC_DECL void emit_early_outcome();

  // ---- ending an attempt ------------------------------------------------------------------------

  ELASTIC_DECL task<void> wait_for_others();
  ELASTIC_DECL task<void> wait_at_exit_barrier();
  static task<void> keep_bool(task<bool> work, bool& result) { result = co_await std::move(work); }
  ELASTIC_DECL task<void> report_failure();
  ELASTIC_DECL task<void> report_first_failure();
  ELASTIC_DECL std::string first_failure() const;
  ELASTIC_DECL void record_cause();
  ELASTIC_DECL void log_change(const restart_ledger::decision& decision);
  ELASTIC_DECL task<void> restart(duration delay);

  // ---- stopping ---------------------------------------------------------------------------------

  ELASTIC_DECL stop_plan stop_in_time() const;
  ELASTIC_DECL task<void> stop_usually();
  ELASTIC_DECL task<void> stop_workers(stop_plan plan);

  // ---- ending the job ---------------------------------------------------------------------------

  ELASTIC_DECL run_result finish_succeeded();
  ELASTIC_DECL run_result finish_late();
  ELASTIC_DECL run_result finish_given_up(const restart_ledger::decision& decision);
  ELASTIC_DECL run_result finish_unreported();
  ELASTIC_DECL task<run_result> finish_stopped();
  ELASTIC_DECL task<run_result> leave_job();
  ELASTIC_DECL void exclude_node(const std::string& reason);
  ELASTIC_DECL run_result finish(worker_state state, std::string reason);
  ELASTIC_DECL run_result complete(run_result result);
  ELASTIC_DECL task<void> leave_rendezvous();
  ELASTIC_DECL task<void> run_and_log(task<void> step);

  std::string startup_warning_;
  std::string waiting_hint_;
  rendezvous_factory factory_;
  /// Until the first round, this is the handler that is being tried, or null.
  std::shared_ptr<rendezvous_handler> rendezvous_;
  const bool job_may_grow_;
  /// Totals of all attempts; nothing is counted unless a part starts workers.
  run_result::worker_starts starts_;
  job_pause pause_;
  /// A pause that was requested between two epochs.
  std::shared_ptr<pending_command> pause_for_epoch_;
  /// Counts the failures of the job's workers, on all nodes.
  restart_ledger ledger_;
  bool are_missing_steps_noted_ = false;
  /// Empty before the first round and after the last.
  std::optional<attempt> attempt_;
  epoch_record epochs_;
  /// Set when workers were started that `kill_at_fence` does not know yet.
  event_flag started_;
  /// The workers that were started last were killed at the fence.
  event_flag fenced_;
  bool is_at_exit_barrier_ = false;
  /// The problem that the check of this node found; empty: none.
  std::optional<std::string> failed_check_;
  /// The job has succeeded without this node.
  bool is_late_ = false;
  /// The end of the job, which applies to the other nodes, too; empty if this agent only leaves.
  std::optional<rendezvous_handler::job_end> job_end_;
  std::string end_reason_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/agent_run.ipp>
#endif

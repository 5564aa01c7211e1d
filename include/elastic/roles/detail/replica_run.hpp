// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/detail/run/worker_run.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/detail/worker_preparation.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/roles/detail/replica_ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// One run of a replica_set. A worker_group holds the processes, with their guards, output, control
/// channel and hang detection; a replica_ledger decides about each failure.
///
/// Thread-safety: its strand.
class replica_run final : public worker_run {
 public:
  /// @param context   the members that the caller knows: strand, executor, commands, signal
  /// @param prepared  its services are complete
  ELASTIC_DECL replica_run(agent_part::context context, prepared_workers prepared,
                           std::string run_id);

  using worker_run::take;
  ELASTIC_DECL void take(const std::shared_ptr<pending_command>& pending);
  /// Never called: a replica_set has no function that makes this request.
  void take(const worker_request&) {}

 private:
  /// A replica that waits for its restart.
  struct pending_restart {
    std::size_t replica = 0;
    std::string cause;
    time_point ended;
  };

  ELASTIC_DECL task<void> live(std::optional<run_result>& result) override;
  void on_stop(const stop_request&, bool) override { happened_.set(); }

  // The loop: queued events and commands are handled here, one at a time.
  ELASTIC_DECL task<run_result> supervise();
  ELASTIC_DECL task<void> take_step();
  ELASTIC_DECL task<void> spend_pause();
  ELASTIC_DECL task<void> open_and_start();
  ELASTIC_DECL task<void> start_all();
  ELASTIC_DECL task<void> await_event();

  // Runs a task beside the replicas until they are stopped. If it fails, so does the run.
  ELASTIC_DECL void run_beside(task<void> work);
  ELASTIC_DECL task<void> keep_failure(task<void> work);

  // Commands: each either begins at once, in its own task, or waits for the loop.
  ELASTIC_DECL void drain(pending_command& pending);
  ELASTIC_DECL void begin_pause(std::shared_ptr<pending_command> pending);
  ELASTIC_DECL void begin_resume(std::shared_ptr<pending_command> pending);
  ELASTIC_DECL std::optional<int> ended_with_success() const;
  ELASTIC_DECL task<void> pause();
  ELASTIC_DECL task<void> resume();

  // Decides after the end of a replica: it has succeeded, it restarts, or the run fails.
  ELASTIC_DECL void judge(std::size_t replica);
  ELASTIC_DECL restart_ledger::decision decide(const worker_group::worker& ended);
  ELASTIC_DECL task<void> prepare(pending_restart next, time_point due);
  ELASTIC_DECL task<void> start_again(pending_restart next);
  ELASTIC_DECL void record_restart(const pending_restart& next);
  ELASTIC_DECL void announce(std::optional<int> replaced);
  // Chooses ports for replicas that are about to start, in a job of several roles.
  ELASTIC_DECL void choose_ports(const std::vector<std::size_t>& replicas);

  ELASTIC_DECL task<void> stop_all(stop_plan plan);
  ELASTIC_DECL task<void> end_all();
  ELASTIC_DECL task<void> save_before_pause(duration limit);

  ELASTIC_DECL task<run_result> finish_stopped();
  ELASTIC_DECL run_result finish_succeeded();
  ELASTIC_DECL run_result finish_failed();

  std::string startup_warning_;
  replica_ledger ledger_;
  /// Wakes the loop.
  event_flag happened_;
  /// The replicas that have ended and await a decision, in the order of their ends.
  std::deque<std::size_t> ended_;
  /// The replicas that are due to restart.
  std::deque<pending_restart> due_;
  /// The decision that no replica restarts any more; empty: they may restart.
  std::optional<restart_ledger::decision> refusal_;
  /// Commands that wait for the loop.
  std::shared_ptr<pending_command> asked_pause_;
  std::shared_ptr<pending_command> asked_resume_;
  bool is_paused_ = false;
  /// How often all replicas were started again after a pause.
  std::int64_t start_ = 0;
  /// The error of a task that ran beside the replicas.
  std::exception_ptr failure_;
  /// The tasks beside the replicas; a new group after each pause.
  std::unique_ptr<task_group> tasks_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/replica_run.ipp>
#endif

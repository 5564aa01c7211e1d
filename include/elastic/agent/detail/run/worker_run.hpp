// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/run/agent_journal.hpp>
#include <elastic/agent/detail/run/agent_parts.hpp>
#include <elastic/agent/detail/run/agent_telemetry.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/detail/run/run_files.hpp>
#include <elastic/agent/detail/workers/worker_orders.hpp>
#include <elastic/agent/detail/workers/worker_stop.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/stop_plan.hpp>

#include <csignal>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The part of a run of a node's workers that is the same for a world of workers and for replicas:
/// its members, its beginning and end, and the requests that need no decision.
///
/// Thread-safety: its strand.
class worker_run {
 public:
  worker_run(const worker_run&) = delete;
  worker_run& operator=(const worker_run&) = delete;

  /// Runs the workers to their end. Then none is left.
  task<run_result> run() { return with_cleanup(run_to_end(), parts_->close()); }

  /// Passes a signal on to the workers. Between two attempts there is none, and the signal is lost.
  ELASTIC_DECL void take(const signal_request& request);

  /// Sends a signal to one worker, which may be on another node.
  ELASTIC_DECL void take(const rank_signal_request& request);

  /// Takes a stop request. The first one wakes the coroutine that carries it out.
  ELASTIC_DECL void take(const stop_request& request);

 protected:
  /// @param context   the members that the caller knows: strand, executor, commands, signal,
  ///                  and what the workers are
  /// @param services  complete
  /// @param backend  the rendezvous backend, for the journal
  ELASTIC_DECL worker_run(agent_part::context context, worker_spec spec, agent_services services,
                          std::string run_id, std::string backend);
  ~worker_run() = default;

  /// Runs the workers, and keeps the result. Errors: the run fails with them.
  virtual task<void> live(std::optional<run_result>& result) = 0;

  /// Called when a stop has been requested.
  /// @param kills  the workers have been killed at once
  virtual void on_stop(const stop_request& request, bool kills) = 0;

  /// The usual way to stop workers.
  stop_plan usual_stop() const { return {SIGTERM, spec_.shutdown_timeout, spec_.signal_scope}; }

  /// On preemption, lets the workers save a checkpoint before they are stopped. A second stop
  /// request kills the workers, which ends the wait.
  ELASTIC_DECL task<void> save_before_stop();

  /// The workers that outlive an attempt.
  const survivors& kept_workers() const { return internals::survivors_of(group_); }

  ELASTIC_DECL run_result make_result(worker_state state, std::string reason) const;
  /// The result of a run that ended by the request to stop it.
  ELASTIC_DECL run_result stopped_result() const;

  const worker_spec spec_;
  const std::string run_id_;
  const std::string backend_;
  const asio::any_io_executor strand_;
  /// Never null.
  const std::shared_ptr<agent_parts> parts_;
  const agent_services services_;
  const logger& log_;
  time_source& time_;
  run_files files_;
  worker_group group_;
  agent_journal journal_;
  agent_telemetry telemetry_;
  worker_stop stop_;
  worker_orders orders_;
  /// How often workers had failed when those of the last attempt were started; how often a replica
  /// was started again.
  int restarts_ = 0;

 private:
  ELASTIC_DECL task<run_result> run_to_end();
  ELASTIC_DECL std::string name_of(const worker_group::worker& entry) const;
  ELASTIC_DECL std::string effect_of(const stop_request& request, bool kills) const;
  ELASTIC_DECL void report(const run_result& result);

  /// Whether the workers form a world. Otherwise they are replicas.
  const bool has_world_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/worker_run.ipp>
#endif

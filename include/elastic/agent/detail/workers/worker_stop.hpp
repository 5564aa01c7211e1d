// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_journal.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/stop_plan.hpp>

#include <optional>

namespace elastic::detail {

/// Stops the workers of a node, by the agent's plan or by a request, which may arrive during the
/// stop.
///
/// Thread-safety: the agent's strand.
class worker_stop {
 public:
  /// All references must outlive this object.
  ELASTIC_DECL worker_stop(asio::any_io_executor strand, const worker_spec& spec,
                           worker_group& group, agent_journal& journal, time_source& time);

  /// Takes a request. Only the first one decides how the workers stop.
  ELASTIC_DECL void take(const stop_request& request);

  /// The request to stop; empty: there is none.
  const std::optional<stop_request>& request() const { return request_; }
  bool is_requested() const { return request_.has_value(); }

  /// Returns once a stop is requested. Cancellation: all types.
  task<void> requested() { return requested_.wait(); }

  /// Runs `work` until it ends, or a stop is requested, which cancels it.
  /// Errors, cancellation: those of `race`.
  ELASTIC_DECL task<void> run_until_requested(task<void> work);

  /// Stops the workers by `plan`, after the hooks that inspect hung workers; by the request, if
  /// there is one or one arrives meanwhile.
  /// @param limit  the time for which the other nodes wait for the stop
  ELASTIC_DECL task<void> stop(stop_plan plan, duration limit);

 private:
  // The plan with the signal and the grace period of the request, which must exist.
  ELASTIC_DECL stop_plan requested_plan(stop_plan plan) const;
  ELASTIC_DECL task<void> stop_unless_requested(stop_plan plan, duration limit);
  ELASTIC_DECL task<void> stop_after_hooks(stop_plan plan, duration limit);

  const worker_spec& spec_;
  worker_group& group_;
  agent_journal& journal_;
  time_source& time_;
  std::optional<stop_request> request_;
  event_flag requested_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/worker_stop.ipp>
#endif

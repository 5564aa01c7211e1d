// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_journal.hpp>
#include <elastic/agent/detail/run/agent_parts.hpp>
#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/mailbox.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <memory>

namespace elastic::detail {

/// The requests to a node's workers while they run: to pause, to continue, to save a checkpoint, to
/// be inspected. No request is kept for workers that start later.
///
/// Thread-safety: the agent's strand.
class worker_orders {
 public:
  /// All references must outlive this object.
  ELASTIC_DECL worker_orders(asio::any_io_executor strand, worker_group& group,
                             agent_parts& parts, agent_journal& journal, time_source& time,
                             const logger& log);

  /// Queues a request; drops it if no workers run. The callers bound their number.
  ELASTIC_DECL void push(const worker_request& request);

  /// Queues a command, or refuses it if no workers run.
  ELASTIC_DECL void push_checkpoint(std::shared_ptr<pending_command> pending);
  ELASTIC_DECL void push_inspection(std::shared_ptr<pending_command> pending);

  /// Carries out the queued orders. Inspections do not wait for requests, which may take long. Ends
  /// only by cancellation, of any type.
  ELASTIC_DECL task<void> carry_out();

  /// Drops the queued orders, which were meant for the workers that have ended.
  ELASTIC_DECL void clear();

  /// Asks the workers to save a checkpoint, and logs the outcome.
  /// Cancellation: all types; workers that were asked may still save.
  ELASTIC_DECL task<job_command::outcome> save(duration timeout);
  bool is_saving() const { return is_saving_; }

 private:
  /// A request, and the command that waits for its outcome (null: none).
  struct order {
    worker_request request;
    std::shared_ptr<pending_command> command;
  };

  ELASTIC_DECL task<void> pass_on_requests();
  ELASTIC_DECL task<void> answer_inspections();
  ELASTIC_DECL task<void> save_as_ordered(order ordered);

  worker_group& group_;
  agent_parts& parts_;
  agent_journal& journal_;
  time_source& time_;
  const logger& log_;
  mailbox<order> requests_;
  mailbox<std::shared_ptr<pending_command>> inspections_;
  bool is_saving_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/worker_orders.ipp>
#endif

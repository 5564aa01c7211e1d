// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/rendezvous_link.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace elastic::detail {

/// A node's view of the agents of a job, one of which leads. It finds the leader, and performs this
/// agent's part in the election of a leader.
///
/// Thread-safety: one strand at a time.
class leader_source {
 public:
  virtual ~leader_source() = default;

  /// The name of the rendezvous backend.
  virtual std::string backend() const = 0;
  /// The meeting place of the nodes, for messages.
  virtual std::string name() const = 0;
  /// The number of this node: the one that is offered, unless this agent has one already.
  virtual std::uint64_t number_of(std::uint64_t offered) const { return offered; }

  /// Prepares this agent's part. Called before the first connection, and again after an error.
  ///
  /// Result: connects to whichever agent leads.
  /// Errors: those of the way to find a leader. Cancellation: all types; may be called again.
  virtual task<std::shared_ptr<message_connector>> open(std::uint64_t number) = 0;

  /// The node's connection. Called once, after `open`.
  virtual void attach(std::shared_ptr<rendezvous_link> link) = 0;

  /// Waits for news of the connection, and continues this agent's part meanwhile.
  virtual task<void> news() = 0;

  /// Adds this agent's work while the node waits for a round.
  virtual task<void> watch_during(task<void> waiting) { return waiting; }
  /// The reason why no round may begin; empty: there is none.
  virtual std::string obstacle() const { return {}; }

  /// The location of the last leader, and whether this agent is it.
  virtual meeting_place server() const = 0;
  /// Whether no other host can reach the agents.
  virtual bool is_at_loopback() const = 0;
  /// The store of the agent that led last.
  virtual task<std::shared_ptr<store>> agents() = 0;
  /// Frees the data of rounds that no agent asks for any more, if this agent leads.
  virtual void forget_rounds(const std::string& run_id, std::int64_t first_kept) = 0;

  /// Ends this agent's part. Called when the node has left.
  virtual task<void> retire(bool is_job_over) = 0;
};

}  // namespace elastic::detail

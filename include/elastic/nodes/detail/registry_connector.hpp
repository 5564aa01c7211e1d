// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/job_file_record.hpp>
#include <elastic/nodes/detail/job_file_registry.hpp>
#include <elastic/nodes/detail/leader_network.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/registered_leader.hpp>
#include <elastic/nodes/detail/registry_watch.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// Connects a node to the agent that a registry names as the leader of its job. If no agent leads,
/// it makes this one lead.
///
/// Thread-safety: one strand at a time.
class registry_connector final : public message_connector {
 public:
  struct options {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    options() = default;

    std::string run_id;
    rendezvous_settings settings;
    /// How long a leader that cannot reach the registry keeps leading.
    duration registry_grace = std::chrono::seconds(60);
    /// Makes the registry, once for this object, and once for each term in which this agent leads.
    std::function<std::shared_ptr<leader_registry>()> registry;
    /// The fingerprint of this node's job file, and the store in which the leaders of all roles
    /// record theirs. Null: job files are not compared.
    std::string fingerprint;
    std::shared_ptr<job_file_registry> job_files;
    std::shared_ptr<leader_network> network;
    std::shared_ptr<report_exchange> reports;
    std::shared_ptr<time_source> time;
    logger log;
  };

  /// The access to the state of this node.
  struct node_state {
    /// `node_id::random_number::high`.
    std::uint64_t number = 0;
    /// Returns the time for which the leader's node may have workers. Empty unless this node has
    /// lost the leader, is between two rounds, and has no worker left.
    std::function<std::optional<duration>()> loss;
    /// Makes the node take part in no round up to this one.
    std::function<void(std::int64_t)> skip_rounds_through;
  };

  ELASTIC_DECL explicit registry_connector(options chosen);

  /// Call it before the other members.
  void attach(node_state node) { node_ = std::move(node); }

  /// Stops this agent's server. Call it when this agent's node has left.
  ELASTIC_DECL task<void> leave(bool is_job_over);

  const options& chosen() const { return chosen_; }

  /// The leader to which the node was last connected: its endpoint, and its store.
  const endpoint& leader() const { return connected_.address; }
  ELASTIC_DECL task<std::shared_ptr<store>> agents();
  void forget_rounds(const std::string& run_id, std::int64_t first_kept) {
    chosen_.network->forget_rounds(run_id, first_kept);
  }

  std::string name() const override { return registry_->name(); }
  ELASTIC_DECL std::string connected_to() const override;
  std::string problem() const override { return problem_; }

  /// Polls the registry while the node waits for a round, until it is cancelled: without the
  /// registry, the leader begins no round.
  task<void> watch_registry() { return watch_.run(); }
  /// The reason why no round may begin; empty: the registry answers.
  std::string obstacle() const { return watch_.obstacle(); }

  /// Errors: `errc::invalid_argument` if the registry has values of another job, or if another role
  /// of the job runs with a different job file;
  /// `errc::rendezvous_finished` or `errc::rendezvous_closed` if the job is over.
  /// Cancellation: all types; nothing else ends the search for a leader.
  ELASTIC_DECL task<std::shared_ptr<message_channel>> connect() override;

  /// Errors: `errc::connection_failed` if that agent no longer leads.
  ELASTIC_DECL task<std::shared_ptr<message_channel>> connect_again() override;
  bool knows_other_side() const override { return true; }
  bool reaches_own_process() const override { return connected_.agent == node_.number; }

 private:
  // Reads the record. Result: whether it could be read.
  ELASTIC_DECL task<bool> look();
  // Result: null if no agent leads there.
  ELASTIC_DECL task<std::shared_ptr<message_channel>> try_leader();
  ELASTIC_DECL task<std::shared_ptr<message_channel>> ask(leader_record record);
  ELASTIC_DECL void throw_if_over() const;

  // Notes the job file of this node when its agent begins to lead. Nodes that follow a leader have
  // its file, or it refuses them. Result: whether the registry answered.
  ELASTIC_DECL task<bool> record_job_file();
  ELASTIC_DECL task<bool> try_note_job_file();
  // The run id of a role that runs with the job file of the record; empty: none does.
  ELASTIC_DECL task<std::string> running_role(job_file_record record);

  // ---- leading --------------------------------------------------------------------------------

  // The time for which the former leader's node may have workers; empty: this agent may not lead
  // now.
  ELASTIC_DECL task<std::optional<duration>> may_lead();
  // Claims in the registry that this node has lost the leader.
  ELASTIC_DECL task<void> claim_loss();
  // The longest wait of all claims; empty until all nodes of the newest round have lost the leader.
  ELASTIC_DECL task<std::optional<duration>> all_claims();
  ELASTIC_DECL task<void> try_to_lead(duration wait);
  ELASTIC_DECL task<void> end_own_leader();

  options chosen_;
  node_state node_;
  std::shared_ptr<leader_registry> registry_;
  /// Has a connection of its own.
  registry_watch watch_;
  std::optional<leader_registry::sight> seen_;
  /// The time since which the record has been unchanged.
  time_point seen_at_;
  /// The record of the leader to which the node was last connected.
  leader_record connected_;
  /// The last claim of this node.
  std::int64_t claimed_term_ = 0;
  std::int64_t claimed_round_ = -1;
  duration claimed_wait_{};
  time_point claimed_at_;
  /// The term of this agent for which its job file is noted.
  std::int64_t noted_term_ = 0;
  std::shared_ptr<registered_leader> leader_;
  std::shared_ptr<store> agents_;
  std::string problem_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/registry_connector.ipp>
#endif

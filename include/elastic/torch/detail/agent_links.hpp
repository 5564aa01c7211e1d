// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/torch/detail/link_network.hpp>
#include <elastic/torch/detail/link_offer.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace elastic {

class rendezvous_coordinator;

}  // namespace elastic

namespace elastic::detail {

class rendezvous_link;

/// The connections of the agents of one round, all of which go to the node of group rank 0, its
/// host: so that losses and failures are known at once, wherever the nodes have met. It is a
/// rendezvous of its own, by the protocol of our own server, whose only round has these nodes.
///
/// Thread-safety: one strand at a time, that of the executor.
class agent_links final : public std::enable_shared_from_this<agent_links> {
 public:
  struct options {
    std::shared_ptr<link_network> network;
    node_id self;
    /// The nodes of the round with their ranks.
    std::map<node_id, int> members;
    rendezvous_settings settings;
    /// Where the nodes have met, for people.
    std::string place;
    std::shared_ptr<time_source> time;
    logger log;
  };

  ELASTIC_DECL agent_links(asio::any_io_executor executor, options with);
  ELASTIC_DECL ~agent_links();

  // ---- the beginning --------------------------------------------------------------------------

  /// Serves the others, and connects this node, which has group rank 0.
  /// Errors: those of `link_network::serve`. Cancellation: all types; call `part` then.
  ELASTIC_DECL task<link_offer> host();

  /// Begins to connect to the host, which is tried for twice as long as a node may be silent.
  ELASTIC_DECL void connect(link_offer offer);

  /// Waits until all nodes of the round are connected, or there is a `change`.
  /// Errors: `errc::connection_failed` if the host cannot be reached, with a sentence that names
  /// both addresses. Cancellation: all types.
  ELASTIC_DECL task<void> wait_for_all();

  /// Whether all were.
  ELASTIC_DECL bool are_complete() const;

  /// Whether the host did not take this node in.
  ELASTIC_DECL bool was_refused() const;

  /// That, in a sentence.
  ELASTIC_DECL std::string refusal() const;

  // ---- the round ------------------------------------------------------------------------------

  /// What ended the round, as far as the connections tell; `restarts` is free.
  ELASTIC_DECL std::optional<rendezvous_change> change() const;

  /// Waits for that; for ever if the host has left in order.
  ELASTIC_DECL task<rendezvous_change> wait_for_change();

  /// Workers of this node have failed: tells all.
  /// Result: the change that counts; none if the host has left in order.
  ELASTIC_DECL task<std::optional<rendezvous_change>> report_failure(std::string reason);

  /// The workers of this node have succeeded: who goes now is not lost.
  ELASTIC_DECL void say_finished();

  /// Waits until the workers of this node have to be gone, as far as the connections tell.
  ELASTIC_DECL task<void> wait_for_fence();

  // ---- who is lost ----------------------------------------------------------------------------

  /// At the host: the nodes that are gone, and have no workers any more.
  const std::set<node_id>& gone() const { return gone_; }

  /// Waits until there is one of them that is not `known`.
  ELASTIC_DECL task<void> wait_for_gone_besides(std::set<node_id> known);

  /// At others: waits until the host has ended both connections, and did not leave in order.
  /// Result: when they ended.
  ELASTIC_DECL task<time_point> wait_for_host_loss();

  /// How long a node whose connections ended has to come back: the host goes by its own setting.
  ELASTIC_DECL duration grace() const;

  // ---- the end --------------------------------------------------------------------------------

  /// Leaves in order: nobody takes this node for lost.
  ELASTIC_DECL task<void> part();

 private:
  /// What the coordinator, which is the server's, tells of the nodes.
  struct observation {
    std::optional<time_point> alone_since;
    std::set<node_id> gone;
    friend bool operator==(const observation&, const observation&) = default;
  };

  bool is_host() const { return members_.at(self_) == 0; }
  ELASTIC_DECL static observation observe(const rendezvous_coordinator& job,
                                          const std::map<node_id, int>& members,
                                          const node_id& self);
  ELASTIC_DECL void take(observation seen);
  ELASTIC_DECL task<void> wait_while_not_alone();
  // When the host, which has lost all others, ends the round.
  ELASTIC_DECL time_point alone_notice() const;
  // Waits until there may be a change.
  ELASTIC_DECL task<void> news();
  ELASTIC_DECL task<void> say_farewell();
  [[noreturn]] ELASTIC_DECL void throw_unreachable() const;

  const asio::any_io_executor executor_;
  const std::shared_ptr<link_network> network_;
  const node_id self_;
  const std::map<node_id, int> members_;
  rendezvous_settings settings_;
  const std::string place_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  endpoint at_;
  std::shared_ptr<rendezvous_link> link_;
  bool serves_ = false;
  event_flag observed_;
  std::optional<time_point> alone_since_;
  std::set<node_id> gone_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/agent_links.ipp>
#endif

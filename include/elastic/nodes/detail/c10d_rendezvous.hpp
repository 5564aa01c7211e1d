// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/leader_source.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/nodes/detail/rendezvous_link.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic::detail {

/// The rendezvous named "c10d": nodes meet at a store server that one of them hosts.
///
/// Each node holds one connection to the server, sends its requests and receives their outcomes. A
/// round costs O(N) messages, and the end of a connection reveals a dead node.
/// docs/design/rendezvous.md has the protocol, docs/nodes.md the settings (`--rdzv-conf`).
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT c10d_rendezvous final : public rendezvous_handler {
 public:
  using store_watch = std::function<std::shared_ptr<void>(std::shared_ptr<key_value_engine>)>;

  /// The hint for users of a header-only program that wants to meet nodes of torchrun.
  static constexpr std::string_view torch_hint =
      "to meet with nodes of torchrun, include <elastic/torch.hpp> (in the single header: define "
      "ELASTIC_WITH_TORCH) and call add_torch_rendezvous(registry)";

  /// Errors: `errc::invalid_argument` for an empty run id, an invalid endpoint, or a setting
  /// out of bounds.
  ELASTIC_DECL explicit c10d_rendezvous(rendezvous_parameters parameters);

  /// The same at a server that `connector` reaches and whose store is `agents`. Hosts nothing, and
  /// ignores the endpoint.
  /// @param is_beside_server  the server is in this process, so that both end together
  ELASTIC_DECL c10d_rendezvous(rendezvous_parameters parameters,
                               std::shared_ptr<message_connector> connector,
                               std::shared_ptr<store> agents, bool is_beside_server = false);

  /// The same at the leader of several agents that can lead. Ignores the endpoint.
  ELASTIC_DECL c10d_rendezvous(rendezvous_parameters parameters,
                               std::shared_ptr<leader_source> leaders);

  /// Leaves it to the caller to meet nodes of torchrun: errors no longer say how to do it. Call it
  /// before the first round.
  /// @param watch  called with the table of the store if this node hosts it; its result lives as
  ///               long as the host
  void meet_beside_torch(store_watch watch) { watch_ = std::move(watch); }

  /// Does not host a server, because this program hosts the one at the endpoint for several jobs,
  /// or another node does. Call it before the first round.
  /// @param is_beside_server  the server is in this process, so that both end together
  /// @param was_reached  this program has reached the server before: if it does not answer now, the
  ///                          wait is only as long as after a lost connection
  void use_server(bool is_beside_server, bool was_reached) {
    is_host_ = false;
    is_beside_server_ = is_beside_server;
    was_reached_ = was_reached;
  }

  std::string backend() const override { return leaders_ ? leaders_->backend() : "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  /// Meets the other nodes for the first time; `next_round` then returns that round at once.
  /// Errors: those of `next_round`; `errc::not_supported` if agents of torchrun meet there, after
  /// `meet_beside_torch`.
  /// Cancellation: all types; this node is then in no round.
  ELASTIC_DECL task<void> meet();

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<rendezvous_change> wait_for_change() override;
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string reason) override;
  ELASTIC_DECL task<void> exit_barrier() override;
  ELASTIC_DECL task<void> wait_for_fence() override;
  ELASTIC_DECL void pause(std::string why, bool saves_first) override;
  ELASTIC_DECL void resume() override;
  void exclude_node(std::string why) override { bad_because_ = std::move(why); }
  std::optional<std::int64_t> arrived_workers() const override { return workers_.arrived(); }
  ELASTIC_DECL std::string obstacle() const override;
  ELASTIC_DECL task<void> close(rendezvous_handler::job_end how, std::string why) override;
  ELASTIC_DECL task<void> shutdown() override;

 private:
  ELASTIC_DECL task<void> begin();

  // Reaches the endpoint over the network, or as its host if this node is to host it.
  ELASTIC_DECL task<void> reach_endpoint(asio::any_io_executor executor);

  // Hosts the server if the program that held its port is gone. That was a job that was about to
  // end, or an agent that started at the same moment and yielded, as this one did.
  ELASTIC_DECL task<void> host_abandoned_endpoint();

  // Result: whether this node hosts the server now.
  ELASTIC_DECL task<bool> host_endpoint();

  // Whether the server ends with this node.
  bool hosts() const { return (host_ != nullptr || is_beside_server_) && !leaders_; }

  // Reads the settings that do not depend on where the nodes meet.
  ELASTIC_DECL void take_settings();

  // Where the server is, and whether it belongs to this agent.
  ELASTIC_DECL meeting_place server() const;

  // Waits for news from the link.
  ELASTIC_DECL task<void> news();

  // Waits until this node is placed in a round after its last one.
  ELASTIC_DECL task<void> join();
  ELASTIC_DECL task<void> until_placed();
  ELASTIC_DECL task<rendezvous_round> placed_round();
  ELASTIC_DECL address_filter admitted_addresses() const;
  ELASTIC_DECL void throw_if_in_no_round() const;
  ELASTIC_DECL void throw_if_over() const;
  [[noreturn]] ELASTIC_DECL void throw_broken() const;

  [[noreturn]] ELASTIC_DECL void throw_refused(const rendezvous_messages::refused& refused) const;

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  /// Where the nodes meet, for messages.
  std::string place_;
  rendezvous_settings settings_;
  duration host_grace_ = std::chrono::seconds(60);
  std::optional<bool> is_host_;
  /// Whether this node may still host a server; empty: that depends on the address.
  std::optional<bool> may_host_ = false;
  bool is_beside_server_ = false;
  bool was_reached_ = false;
  worker_store_host workers_;
  std::unique_ptr<rendezvous_host> host_;
  /// Null: there is one server, at the endpoint.
  std::shared_ptr<leader_source> leaders_;
  bool is_closing_ = false;
  std::shared_ptr<message_connector> connector_;
  store_watch watch_;
  std::shared_ptr<void> kept_watch_;
  std::shared_ptr<rendezvous_link> link_;
  std::shared_ptr<store> agents_;
  std::string worker_networks_;
  std::int64_t round_ = -1;
  /// The round of `meet`, until `next_round` returns it.
  std::optional<rendezvous_round> met_;
  /// The reason why this node is excluded when it leaves; empty: it may return.
  std::string bad_because_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/c10d_rendezvous.ipp>
#endif

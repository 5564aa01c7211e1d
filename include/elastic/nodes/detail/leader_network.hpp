// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace elastic::detail {

/// The network by which an agent serves the others while it leads, and reaches the leader
/// otherwise.
class leader_network {
 public:
  virtual ~leader_network() = default;

  /// Serves at a free port, one server at a time. Result: the address at which others reach it.
  virtual task<endpoint> serve(std::shared_ptr<store_extension> extension) = 0;
  /// Sends the clients their pending messages, then stops the server.
  virtual task<void> stop() = 0;
  /// See rendezvous_host.
  virtual void forget_rounds(const std::string& run_id, std::int64_t first_kept) = 0;

  virtual std::shared_ptr<message_connector> connector_to(endpoint address) = 0;
  /// The store of that server.
  virtual task<std::shared_ptr<store>> store_at(endpoint address) = 0;

  /// The address at which others reach this agent.
  virtual std::string address() const = 0;
};

/// The network over TCP.
class tcp_leader_network final : public leader_network {
 public:
  /// @param parameters  with the job's secret, if it has one
  /// @param address     by which others reach this host, unless the user chose one
  ELASTIC_DECL tcp_leader_network(rendezvous_parameters parameters, std::string address);

  ELASTIC_DECL task<endpoint> serve(std::shared_ptr<store_extension> extension) override;
  ELASTIC_DECL task<void> stop() override;
  ELASTIC_DECL void forget_rounds(const std::string& run_id, std::int64_t first_kept) override;
  ELASTIC_DECL std::shared_ptr<message_connector> connector_to(endpoint address) override;
  ELASTIC_DECL task<std::shared_ptr<store>> store_at(endpoint address) override;
  std::string address() const override { return address_; }

 private:
  rendezvous_parameters parameters_;
  std::string address_;
  std::unique_ptr<rendezvous_host> host_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/leader_network.ipp>
#endif

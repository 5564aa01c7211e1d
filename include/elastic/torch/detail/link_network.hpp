// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/message_channel.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/store_extension.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// How the agents of a round reach each other.
///
/// Thread-safety: one strand at a time.
class link_network {
 public:
  virtual ~link_network() = default;

  /// Opens a port of this node; one at a time.
  /// Result: where the other nodes reach it.
  /// Errors: `errc::connection_failed`. Cancellation: all types; nothing is open then.
  virtual task<endpoint> serve(std::shared_ptr<store_extension> extension) = 0;

  /// Closes it, once everybody was sent what they were told.
  virtual task<void> stop() = 0;

  virtual std::shared_ptr<message_connector> connector_to(endpoint at) = 0;

  /// This node's own address, for people.
  virtual std::string address() const = 0;
};

/// By TCP, at the address by which this node's workers are found.
class tcp_link_network final : public link_network {
 public:
  /// @param address  a numeric address of this host that the others can reach
  ELASTIC_DECL tcp_link_network(rendezvous_parameters parameters, std::string address);

  ELASTIC_DECL task<endpoint> serve(std::shared_ptr<store_extension> extension) override;
  ELASTIC_DECL task<void> stop() override;
  ELASTIC_DECL std::shared_ptr<message_connector> connector_to(endpoint at) override;
  std::string address() const override { return known_as_; }

 private:
  std::string address_;
  std::string known_as_;
  worker_store_host host_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/link_network.ipp>
#endif

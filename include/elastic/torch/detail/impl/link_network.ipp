// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/link_network.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/net/detail/tcp_message_channel.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>

#include <utility>

namespace elastic::detail {

inline rendezvous_parameters with_store_of_agents(rendezvous_parameters parameters) {
  parameters.share_worker_store = true;
  return parameters;
}

ELASTIC_DECL tcp_link_network::tcp_link_network(rendezvous_parameters parameters,
                                                std::string address)
    : address_(std::move(address)),
      known_as_(parameters.local_addr.empty() ? address_ : parameters.local_addr),
      host_(with_store_of_agents(std::move(parameters))) {}

ELASTIC_DECL task<endpoint> tcp_link_network::serve(std::shared_ptr<store_extension> extension) {
  const meeting_place nowhere;
  const master_endpoint at =
      co_await host_.serve(address_, is_loopback(address_), nowhere, std::move(extension));
  co_return endpoint{at.address, at.port};
}

ELASTIC_DECL task<void> tcp_link_network::stop() { return host_.stop(); }

ELASTIC_DECL std::shared_ptr<message_connector> tcp_link_network::connector_to(endpoint at) {
  return std::make_shared<tcp_message_connector>(std::move(at),
                                                 std::string(rendezvous_service::first_words),
                                                 limits::rendezvous_message_bytes);
}

}  // namespace elastic::detail

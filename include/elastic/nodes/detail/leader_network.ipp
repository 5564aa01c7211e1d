// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/leader_network.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/rendezvous/detail/listen_point.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL tcp_leader_network::tcp_leader_network(rendezvous_parameters parameters,
                                                    std::string address)
    : parameters_(std::move(parameters)),
      address_(parameters_.local_addr.empty() ? std::move(address) : parameters_.local_addr) {}

ELASTIC_DECL task<endpoint> tcp_leader_network::serve(std::shared_ptr<store_extension> extension) {
  listen_point point;
  if (!parameters_.listens_everywhere()) point = co_await find_listen_point(address_);
  const auto executor = co_await asio::this_coro::executor;
  constexpr std::uint16_t any_port = 0;
  host_ = std::make_unique<rendezvous_host>(executor, std::move(point), any_port, parameters_,
                                            rendezvous_protocol::native, std::move(extension));
  endpoint at(address_, host_->port());
  log_open_port(parameters_, address_, at.port, address_);
  co_return at;
}

ELASTIC_DECL task<void> tcp_leader_network::stop() {
  const std::unique_ptr<rendezvous_host> ending = std::move(host_);
  if (ending) co_await ending->stop();
}

ELASTIC_DECL void tcp_leader_network::forget_rounds(const std::string& run_id,
                                                    std::int64_t first_kept) {
  if (host_) host_->forget_rounds(run_id, first_kept);
}

ELASTIC_DECL std::shared_ptr<message_connector> tcp_leader_network::connector_to(endpoint address) {
  return make_rendezvous_connector(std::move(address), parameters_);
}

ELASTIC_DECL task<std::shared_ptr<store>> tcp_leader_network::store_at(endpoint address) {
  const auto executor = co_await asio::this_coro::executor;
  co_return make_agents_store(executor, std::move(address), parameters_);
}

}  // namespace elastic::detail

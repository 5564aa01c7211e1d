// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/stored_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/name_wait.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL stored_rendezvous::stored_rendezvous(rendezvous_parameters settings)
    : solo_rendezvous(std::move(settings)), workers_(parameters()) {}

ELASTIC_DECL task<void> stored_rendezvous::prepare() {
  if (place().port != 0 && !server_) {
    co_await wait_for_name(place().host, parameters().join_timeout, parameters());
    tcp_store_server::options options;
    options.address = place().host;
    options.port = place().port;
    options.use_ring = parameters().use_ring;
    options.secret = parameters().secret;
    options.log = parameters().log;
    internals::of(options).meter = internals::of(parameters()).meter;
    server_ = std::make_unique<tcp_store_server>(co_await asio::this_coro::executor, options);
  }
  co_await workers_.stop();
}

ELASTIC_DECL task<rendezvous_round::master_endpoint> stored_rendezvous::open_master(
    std::string own_address) {
  const meeting_place nowhere;
  const bool is_alone = parameters().local_addr.empty();
  rendezvous_round::master_endpoint master =
      co_await workers_.serve(std::move(own_address), is_alone, nowhere);
  if (parameters().secret) {
    address_filter own;
    for (const asio::ip::address& address : own_addresses()) own.add(address);
    workers_.admit(own);
  }
  co_return master;
}

ELASTIC_DECL task<void> stored_rendezvous::shutdown() {
  co_await workers_.stop();
  if (server_) co_await server_->stop();
  server_.reset();
}

}  // namespace elastic::detail

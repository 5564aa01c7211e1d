// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/worker_store_host.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>

#include <algorithm>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL worker_store_host::worker_store_host(const rendezvous_parameters& parameters,
                                                  ports choice, look_up names)
    : address_(parameters.local_addr),
      listens_everywhere_(parameters.listens_everywhere()),
      share_(parameters.share_worker_store),
      use_ring_(parameters.use_ring),
      has_secret_(parameters.secret ||
                  parameters.conf.find("secret_file") != parameters.conf.end()),
      choice_(choice),
      log_(parameters.log),
      meter_(internals::of(parameters).meter),
      look_up_(std::move(names)) {}

ELASTIC_DECL task<rendezvous_round::master_endpoint> worker_store_host::serve(
    std::string reachable, bool is_alone, meeting_place meeting,
    std::shared_ptr<store_extension> besides) {
  rendezvous_round::master_endpoint master;
  master.address = address_.empty() ? reachable : address_;
  master.served_by_agent = share_;
  if (!share_) {
    master_port_ = lease_port();
    master.port = master_port_.port();
    co_return master;
  }
  tcp_store_server::options options;
  // The user's choice of address matters more than the fact that no other host needs the port.
  const bool is_private = is_alone && address_.empty() && !listens_everywhere_;
  listen_point point = co_await point_for(reachable, is_private, std::move(meeting));
  options.address = std::move(point.address);
  options.besides = std::move(point.besides);
  options.use_ring = use_ring_;
  internals::of(options).extension = std::move(besides);
  options.waits_for_filter = has_secret_ && !is_private;
  options.log = log_;
  internals::of(options).meter = meter_;
  server_ = listen(co_await asio::this_coro::executor, std::move(options));
  master.port = server_->port();
  if (choice_ == ports::kept) kept_port_ = master.port;
  co_return master;
}

ELASTIC_DECL task<listen_point> worker_store_host::point_for(std::string reachable,
                                                             bool is_private,
                                                             meeting_place meeting) {
  listen_point point;
  if (is_private) point.address = reachable;
  if (is_private || listens_everywhere_) co_return point;
  const std::string known_as = address_.empty() ? reachable : address_;
  if (address_.empty() && is_loopback(reachable)) co_return point;
  point = co_await find(known_as);
  const bool is_met_elsewhere = !meeting.host.empty() && !is_loopback(meeting.host);
  if (point.address.empty() || !is_met_elsewhere) co_return point;
  listen_point place = co_await find(meeting.host);
  if (place.address.empty()) {
    if (meeting.is_host) point = listen_point();
    co_return point;
  }
  // Others know the server's host by the address at which they reach the server.
  place.besides.push_back(asio::ip::make_address(place.address));
  for (const asio::ip::address& address : place.besides) {
    const bool is_open =
        address.to_string() == point.address ||
        std::find(point.besides.begin(), point.besides.end(), address) != point.besides.end();
    if (!is_open) point.besides.push_back(address);
  }
  co_return point;
}

ELASTIC_DECL task<listen_point> worker_store_host::find(std::string host) {
  const auto entry = known_.find(host);
  if (entry != known_.end()) co_return entry->second;
  listen_point point = co_await look_up_(host);
  if (!point.address.empty()) known_[host] = point;
  co_return point;
}

ELASTIC_DECL std::unique_ptr<tcp_store_server> worker_store_host::listen(
    asio::any_io_executor executor, tcp_store_server::options options) const {
  if (kept_port_ != 0) {
    options.port = kept_port_;
    try {
      return std::make_unique<tcp_store_server>(executor, options);
    } catch (const error& failure) {
      if (failure.code() != errc::address_in_use) throw;
      log_.warning("{}; nodes of torchrun look for the workers there", failure.what());
    }
    options.port = 0;
  }
  return std::make_unique<tcp_store_server>(std::move(executor), options);
}

ELASTIC_DECL void worker_store_host::admit(const address_filter& filter) {
  if (server_) server_->admit(filter);
}

ELASTIC_DECL std::optional<std::int64_t> worker_store_host::arrived() const {
  if (!server_) return std::nullopt;
  return server_->announced_workers();
}

ELASTIC_DECL task<void> worker_store_host::stop() {
  const std::unique_ptr<tcp_store_server> ending = std::move(server_);
  if (ending) co_await ending->stop();
}

}  // namespace elastic::detail

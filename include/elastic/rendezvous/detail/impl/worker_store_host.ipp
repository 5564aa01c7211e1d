// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/worker_store_host.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/free_port.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL worker_store_host::worker_store_host(const rendezvous_parameters& parameters,
                                                  ports choice)
    : address_(parameters.local_addr),
      share_(parameters.share_worker_store),
      use_ring_(parameters.use_ring),
      has_secret_(parameters.secret ||
                  parameters.conf.find("secret_file") != parameters.conf.end()),
      choice_(choice),
      log_(parameters.log) {}

ELASTIC_DECL master_endpoint worker_store_host::serve(asio::any_io_executor executor,
                                                      const std::string& reachable, bool is_alone) {
  master_endpoint at;
  at.address = address_.empty() ? reachable : address_;
  at.served_by_agent = share_;
  if (!share_) {
    at.port = free_port(reachable);
    return at;
  }
  tcp_store_server_options options;
  if (is_alone) options.address = reachable;
  if (!is_alone) options.address.clear();
  options.use_ring = use_ring_;
  options.waits_for_filter = has_secret_ && !is_alone;
  options.log = log_;
  server_ = listen(std::move(executor), std::move(options));
  at.port = server_->port();
  if (choice_ == ports::kept) kept_port_ = at.port;
  return at;
}

ELASTIC_DECL std::unique_ptr<tcp_store_server> worker_store_host::listen(
    asio::any_io_executor executor, tcp_store_server_options options) const {
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

ELASTIC_DECL task<void> worker_store_host::stop() {
  const std::unique_ptr<tcp_store_server> ending = std::move(server_);
  if (ending) co_await ending->stop();
}

}  // namespace elastic::detail

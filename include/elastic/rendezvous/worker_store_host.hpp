// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/free_port.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

/// The store in which the workers of one round find each other, served by the agent on a socket of
/// this node. A new one for every round: PyTorch 2.x does not prefix its keys by the attempt, so
/// only an empty store keeps one attempt from reading what the one before left.
///
/// Thread-safety: one strand at a time.
class worker_store_host {
 public:
  explicit worker_store_host(const rendezvous_parameters& parameters)
      : address_(parameters.local_address),
        share_(parameters.share_worker_store),
        use_ring_(parameters.use_ring),
        log_(parameters.log) {}

  /// Serves a new store at any port and says where: at the address that the user chose for this
  /// node, else at `reachable`. Where agents shall not serve it, picks a free port for the worker
  /// of rank 0.
  ///
  /// @param reachable  a numeric address of this host
  /// @param is_alone   no other host takes part: nobody but this one is let in
  /// Errors: `errc::connection_failed`, naming the address.
  master_endpoint serve(asio::any_io_executor executor, const std::string& reachable,
                        bool is_alone) {
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
    options.log = log_;
    server_ = std::make_unique<tcp_store_server>(std::move(executor), options);
    at.port = server_->port();
    return at;
  }

  /// Ends what was served; no connection is left when this returns.
  task<void> stop() {
    const std::unique_ptr<tcp_store_server> ending = std::move(server_);
    if (ending) co_await ending->stop();
  }

 private:
  std::string address_;
  bool share_;
  bool use_ring_;
  logger log_;
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic

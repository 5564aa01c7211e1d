// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_service.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic {

/// What a server of a rendezvous is asked by its nodes.
enum class rendezvous_protocol {
  /// What happens next: it decides (`c10d_rendezvous`).
  native,
  /// What its store holds: they decide (`dynamic_rendezvous`). Who asks for more is hung up on.
  torch,
};

/// The server at which nodes meet, on the node that hosts it.
///
/// Thread-safety: one strand at a time.
class rendezvous_host {
 public:
  static constexpr std::uint16_t default_port = 29400;
  /// The key that shows to clients of the store that its server decides.
  static constexpr std::string_view native_key = "elastic.rendezvous.native";

  /// Hosts the server at `at`, where that is an address of this host that nobody serves yet. Of
  /// nodes on one host, the first that comes hosts.
  ///
  /// @param decided  whether to host, where that does not follow from the address (a virtual
  ///                 address, a forwarded port)
  /// Result: null where another node hosts it.
  /// Errors: those of `tcp_store_server`, where `decided` is true.
  static task<std::unique_ptr<rendezvous_host>> try_host(endpoint at, std::optional<bool> decided,
                                                         rendezvous_parameters parameters,
                                                         rendezvous_protocol protocol) {
    if (decided == false) co_return nullptr;
    auto executor = co_await asio::this_coro::executor;
    const auto addresses = co_await detail::resolve_addresses(at.host, nullptr);
    const bool is_ours = std::any_of(
        addresses.begin(), addresses.end(),
        [&](const auto& address) { return is_local_address(executor, address); });
    if (!is_ours && !decided) co_return nullptr;
    const std::string listen_at = is_loopback(at.host) ? at.host : "";
    try {
      co_return std::make_unique<rendezvous_host>(executor, listen_at, at.port, parameters,
                                                  protocol);
    } catch (const error& failure) {
      if (failure.code() != errc::address_in_use || decided) throw;
    }
    co_return nullptr;
  }

  /// Errors: those of `tcp_store_server`.
  rendezvous_host(asio::any_io_executor executor, const std::string& address, std::uint16_t port,
                  const rendezvous_parameters& parameters, rendezvous_protocol protocol) {
    tcp_store_server_options options;
    options.address = address;
    options.port = port;
    options.use_ring = parameters.use_ring;
    options.log = parameters.log;
    options.time = parameters.time;
    if (protocol == rendezvous_protocol::native) {
      options.extension = std::make_shared<rendezvous_service>(parameters.log, parameters.time);
    }
    server_ = std::make_unique<tcp_store_server>(std::move(executor), std::move(options));
    if (protocol == rendezvous_protocol::native) engine()->set("/" + std::string(native_key), "");
  }

  std::shared_ptr<key_value_engine> engine() const { return server_->engine(); }

  /// How many clients are connected.
  std::size_t connections() const { return server_->connections(); }

  /// Ends the server, once the nodes were sent what they were told.
  task<void> stop() { co_await server_->stop(); }

 private:
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic

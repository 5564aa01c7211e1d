// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/listen_point.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// What a server of a rendezvous is asked by its nodes.
enum class rendezvous_protocol {
  /// What happens next: it decides (`c10d_rendezvous`).
  native,
  /// What its store holds: they decide (`dynamic_rendezvous`). It hangs up on other requests.
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

  /// Hosts the server at `at`, if that is an address of this host that nobody serves yet. Of
  /// nodes on one host, the first that comes hosts. The port is opened as `detail::listen_point`
  /// says, or at every address if the parameters say so.
  ///
  /// @param decided  whether to host, if that does not follow from the address (a virtual
  ///                 address, a forwarded port)
  /// @param service  what nodes ask; none: what the protocol says
  /// Result: null if another node hosts it.
  /// Errors: those of `tcp_store_server`, if `decided` is true.
  ELASTIC_DECL static task<std::unique_ptr<rendezvous_host>> try_host(
      endpoint at, std::optional<bool> decided, rendezvous_parameters parameters,
      rendezvous_protocol protocol, std::shared_ptr<store_extension> service = nullptr);

  /// Whether `at` is an address of this host. Asks the resolver.
  ELASTIC_DECL static task<bool> is_of_this_host(endpoint at);

  /// Errors: those of `tcp_store_server`.
  ELASTIC_DECL rendezvous_host(asio::any_io_executor executor, listen_point at, std::uint16_t port,
                               const rendezvous_parameters& parameters,
                               rendezvous_protocol protocol,
                               std::shared_ptr<store_extension> service = nullptr);

  std::shared_ptr<key_value_engine> engine() const { return server_->engine(); }
  std::uint16_t port() const { return server_->port(); }

  /// How many clients are connected.
  std::size_t connections() const { return server_->connections(); }

  /// Erases what the agents of a job wrote in its rounds before `first_kept`, but for where workers
  /// met: agents that speak as those of torchrun look that up later.
  ELASTIC_DECL void forget_rounds(const std::string& run_id, std::int64_t first_kept);

  /// Ends the server, once the nodes were sent what they were told.
  ELASTIC_DECL task<void> stop();

 private:
  std::unique_ptr<tcp_store_server> server_;
};

/// Makes a connector to the rendezvous of the host at `at`, with the job's secret if it has one.
ELASTIC_DECL std::shared_ptr<message_connector> make_rendezvous_connector(
    endpoint at, const rendezvous_parameters& parameters,
    std::size_t most_bytes = limits::rendezvous_message_bytes);

/// The same for its store.
ELASTIC_DECL std::shared_ptr<store> make_agents_store(asio::any_io_executor executor, endpoint at,
                                                      const rendezvous_parameters& parameters);

/// Logs that a job without a secret has a port open for others than this host.
/// @param host     where it serves
/// @param reached  who can reach the port can reach this
ELASTIC_DECL void note_open_port(const rendezvous_parameters& parameters, const std::string& host,
                                 std::uint16_t port, std::string_view reached);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/rendezvous_host.ipp>
#endif

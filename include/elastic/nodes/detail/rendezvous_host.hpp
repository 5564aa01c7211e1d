// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/listen_point.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_server.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

class rendezvous_service;

/// The kind of requests that a server answers when nodes meet at it.
enum class rendezvous_protocol {
  /// The server decides, and nodes ask for its decisions (`c10d_rendezvous`).
  native,
  /// The nodes decide, and ask for the content of the server's store (`dynamic_rendezvous`). The
  /// server closes connections with other requests.
  torch,
};

/// The server at which nodes meet, on the node that hosts it.
///
/// Thread-safety: one strand at a time.
class rendezvous_host {
 public:
  /// A key in the store that shows clients that its server decides.
  static constexpr std::string_view native_key = "elastic.rendezvous.native";

  /// Hosts `server` if that is an address of this host that nobody serves yet. Of the
  /// nodes on one host, the first to arrive hosts it. The port is open as `detail::listen_point`
  /// describes, or at every address if the parameters say so.
  ///
  /// @param decided  whether to host, if the address does not show that (a virtual address, a
  ///                 forwarded port)
  /// @param service  answers the nodes; null: the one that the protocol implies
  /// Result: null if another node hosts it.
  /// Errors: those of `tcp_store_server`, if `decided` is true.
  ELASTIC_DECL static task<std::unique_ptr<rendezvous_host>> try_host(
      endpoint server, std::optional<bool> decided, rendezvous_parameters parameters,
      rendezvous_protocol protocol, std::shared_ptr<store_extension> service = nullptr);

  /// Whether `server` is an address of this host. Calls the resolver.
  ELASTIC_DECL static task<bool> is_of_this_host(endpoint server);

  /// Errors: those of `tcp_store_server`.
  ELASTIC_DECL rendezvous_host(asio::any_io_executor executor, listen_point point,
                               std::uint16_t port, const rendezvous_parameters& parameters,
                               rendezvous_protocol protocol,
                               std::shared_ptr<store_extension> service = nullptr);

  std::shared_ptr<key_value_engine> engine() const { return internals::engine_of(*server_); }
  std::uint16_t port() const { return server_->port(); }

  /// Makes the nodes of a job that meets here send reports about themselves, for viewers of the
  /// job. An exchange belongs to one job at a time, the last one. No effect if another service
  /// answers the nodes, or if they meet like nodes of torchrun. Any thread may call it.
  ELASTIC_DECL void show(std::string run_id, std::shared_ptr<report_exchange> reports);

  /// How many clients are connected.
  std::size_t connections() const { return server_->connections(); }

  /// Erases the keys that the agents of a job wrote in its rounds before `first_kept`, except the
  /// addresses at which workers met: agents that follow torchrun's protocol look these up later.
  ELASTIC_DECL void forget_rounds(const std::string& run_id, std::int64_t first_kept);

  /// Sends the nodes their pending messages, then stops the server.
  ELASTIC_DECL task<void> stop();

 private:
  std::unique_ptr<tcp_store_server> server_;
  /// Null: another service answers the nodes, or none does.
  std::shared_ptr<rendezvous_service> meeting_;
};

/// Makes a connector to the rendezvous at `address`, with the job's secret if it has one.
ELASTIC_DECL std::shared_ptr<message_connector> make_rendezvous_connector(
    endpoint address, const rendezvous_parameters& parameters,
    std::size_t most_bytes = limits::rendezvous_message_bytes);

/// The same for its store.
ELASTIC_DECL std::shared_ptr<store> make_agents_store(asio::any_io_executor executor,
                                                      endpoint address,
                                                      const rendezvous_parameters& parameters);

/// Logs a warning that a job without a secret has a port that other hosts can reach.
/// @param host  the host of the server
/// @param reached  the data that everyone who can reach the port can access
ELASTIC_DECL void log_open_port(const rendezvous_parameters& parameters, const std::string& host,
                                std::uint16_t port, std::string_view reached);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/rendezvous_host.ipp>
#endif

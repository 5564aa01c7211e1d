// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <elastic/rendezvous/detail/listen_point.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// Where the nodes meet. The server there may name this node by any address at which others reach
/// that host.
struct meeting_place {
  std::string host;
  /// Whether this node serves there.
  bool is_host = false;
};

/// The store in which the workers of one round find each other. The agent serves it on a socket of
/// this node. Each round gets a new store: PyTorch 2.x does not prefix its keys with the attempt,
/// so only an empty store keeps one attempt from reading the values of the previous one.
///
/// Thread-safety: one strand at a time.
class worker_store_host {
 public:
  /// Whether each store gets a port of its own, or all use the port of the first one.
  enum class ports { fresh, kept };
  /// Resolves a name on this host; see `find_listen_point`.
  using look_up = std::function<task<listen_point>(std::string)>;

  ELASTIC_DECL explicit worker_store_host(const rendezvous_parameters& parameters,
                                          ports choice = ports::fresh,
                                          look_up names = find_listen_point);

  /// Serves a new store. Result: its endpoint, with the address that the user chose for this node,
  /// or else `reachable`. If agents do not serve the store, only chooses a port for the worker of
  /// rank 0, another one than in the round before. The port is open at that address and at
  /// loopback, as `listen_point` describes. It is open at every address if the user asked for that,
  /// or if `reachable` is a loopback address and other hosts take part, because they know this host
  /// by another address. A name keeps the addresses to which it first resolved, so that a later
  /// failure of the resolver opens no further address.
  ///
  /// @param reachable  a numeric address of this host
  /// @param meeting    where the nodes meet: the port is also open at its addresses, if they are
  ///                   this host's; at every address, if none of them is, but this node serves
  ///                   there; without a host: nowhere else
  /// @param is_alone   no other host takes part: only this host may connect, unless the user chose
  ///                   an address or asked for every address
  /// @param besides    a further protocol on the same port; null: none
  /// With `ports::kept`, the previous store must have been stopped. If another program has taken
  /// its port meanwhile, the new store uses any free port.
  /// Errors: `errc::connection_failed`, naming the address, or saying that no port is free.
  /// Cancellation: all types; no store is served then.
  ELASTIC_DECL task<rendezvous_round::master_endpoint> serve(
      std::string reachable, bool is_alone, meeting_place meeting,
      std::shared_ptr<store_extension> besides = nullptr);

  /// Admits workers from these addresses and rejects others: for a job with a secret, whose workers
  /// wait until this is called. Does nothing if no store is served.
  ELASTIC_DECL void admit(const address_filter& filter);

  /// How many workers have connected to the store; empty if none is served here.
  ELASTIC_DECL std::optional<std::int64_t> arrived() const;

  /// Stops the store. No connection is left when this returns.
  ELASTIC_DECL task<void> stop();

 private:
  ELASTIC_DECL std::unique_ptr<tcp_store_server> listen(asio::any_io_executor executor,
                                                        tcp_store_server::options options) const;

  ELASTIC_DECL task<listen_point> point_for(std::string reachable, bool is_private,
                                            meeting_place meeting);
  ELASTIC_DECL task<listen_point> find(std::string host);

  std::string address_;
  bool listens_everywhere_;
  bool share_;
  bool use_ring_;
  bool has_secret_;
  ports choice_;
  std::uint16_t kept_port_ = 0;
  logger log_;
  std::shared_ptr<store_meter> meter_;
  look_up look_up_;
  /// Where the worker of rank 0 serves the store, if agents do not.
  port_lease master_port_;
  /// The addresses of each name that was resolved.
  std::map<std::string, listen_point> known_;
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/worker_store_host.ipp>
#endif

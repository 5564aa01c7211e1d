// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/address_filter.hpp>
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

/// Where the nodes meet, if the server there may name this node by any address at which others
/// reach that host.
struct meeting_place {
  std::string host;
  /// Whether this node serves there.
  bool is_host = false;
};

/// The store in which the workers of one round find each other, served by the agent on a socket of
/// this node. A new one for every round: PyTorch 2.x does not prefix its keys by the attempt, so
/// only an empty store keeps one attempt from reading what the one before left.
///
/// Thread-safety: one strand at a time.
class worker_store_host {
 public:
  /// Whether each store is served at a port of its own, or all at that of the first.
  enum class ports { fresh, kept };
  /// For what a name stands here; see `find_listen_point`.
  using look_up = std::function<task<listen_point>(std::string)>;

  ELASTIC_DECL explicit worker_store_host(const rendezvous_parameters& parameters,
                                          ports choice = ports::fresh,
                                          look_up names = find_listen_point);

  /// Serves a new store and says where: at the address that the user chose for this
  /// node, else at `reachable`. Where agents shall not serve it, picks a free port for the worker
  /// of rank 0. The port is open at that address and at loopback, as `listen_point` says; at every
  /// address if the user wants that, or if `reachable` is a loopback address and other hosts
  /// take part, which know this one by another. A name stands for what it stood for when it was
  /// first found, so that a resolver that fails later opens nothing.
  ///
  /// @param reachable  a numeric address of this host
  /// @param meeting    whose addresses of this host are opened, too; without a host: none
  /// @param is_alone   no other host takes part: nobody but this one is let in, unless the user
  ///                   chose an address or wants every address
  /// @param besides    a further protocol on the same port; empty: none
  /// With `ports::kept` the one before must have been stopped; if another program has taken its
  /// port meanwhile, any port will do.
  /// Errors: `errc::connection_failed`, naming the address.
  /// Cancellation: all types; nothing is served then.
  ELASTIC_DECL task<rendezvous_round::master_endpoint> serve(
      std::string reachable, bool is_alone, meeting_place meeting,
      std::shared_ptr<store_extension> besides = nullptr);

  /// Lets workers in from these addresses, and turns others away: for a job with a secret, whose
  /// workers wait until this is called. Does nothing if no store is served.
  ELASTIC_DECL void admit(const address_filter& filter);

  /// How many workers have come to the store; empty: none is served here.
  ELASTIC_DECL std::optional<std::int64_t> arrived() const;

  /// Ends what was served; no connection is left when this returns.
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
  /// What names stood for, of those that were found.
  std::map<std::string, listen_point> known_;
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/worker_store_host.ipp>
#endif

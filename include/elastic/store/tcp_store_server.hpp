// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/detail/descriptor_share.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/store/detail/client_count.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_budget.hpp>
#include <elastic/store/detail/tcp_store_connection.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace elastic {

class memory_store;
namespace detail {
struct internals;
class ring;
class store_meter;
class tcp_store_server_core;
}  // namespace detail

/// Serves a store over PyTorch's TCPStore protocol, of 1.13 up to 2.x on one port.
///
/// Listens from its construction. A client that blocks, is slow, sends an incomplete request or
/// does not read does not delay others. One that violates the protocol or a limit is disconnected,
/// with one log line at level info. If the process runs out of file descriptors, clients wait to be
/// accepted.
///
/// For an empty key space, create a new server, which takes some ten microseconds.
///
/// Thread-safety: every member may be called from any thread. The server runs on a strand of the
/// executor that it was given; that executor's context must outlive it.
class tcp_store_server {
 public:
  /// Where a tcp_store_server listens, and which clients it serves.
  struct options {
    /// Where to listen: an IPv4 or IPv6 address ("0.0.0.0" and "::" mean every address of this
    /// host), or a name, which means every address to which it resolves. Empty: every address of
    /// this host.
    std::string address = "127.0.0.1";
    /// Further addresses to listen at, with the same port; those that this host does not have are
    /// ignored.
    std::vector<asio::ip::address> besides = {};
    /// 0: the system picks a port.
    std::uint16_t port = 0;
    /// Whether to use an io_uring for the clients' bytes if the kernel allows one.
    bool use_ring = true;
    /// The job's secret: only clients that have it are served; the number of unauthenticated
    /// clients and their time (`limits::store_newcomer_time`) are limited. Empty: all clients are
    /// served.
    std::optional<job_secret> secret = {};
    /// Whether clients wait until `admit` determines which of them are served.
    bool waits_for_filter = false;
    logger log = {};
    /// The table to serve, which the program and other servers may share; null: a new one.
    std::shared_ptr<memory_store> table = {};
    /// Null: the system clock.
    std::shared_ptr<time_source> time = {};

    /// What other parts of the library set.
    class extras {
      friend detail::internals;
      struct members {
        /// What one client may send.
        detail::tcp_store_bounds bounds;
        detail::tcp_store_legacy_dialect legacy_dialect = detail::tcp_store_legacy_dialect::guess;
        /// Counts the clients' requests; null: they are not counted.
        std::shared_ptr<detail::store_meter> meter;
        /// A further protocol on the same port; null: none.
        std::shared_ptr<detail::store_extension> extension;
      };
      members members_;
    };
    extras internal = {};
  };

  /// Errors: `errc::address_in_use`, naming address and port; `errc::invalid_argument` if the
  /// address is not one of this host, or may not be used; `errc::connection_failed` if the name
  /// cannot be resolved or no socket can be created.
  ELASTIC_DECL tcp_store_server(asio::any_io_executor executor, options settings);

  /// Closes everything without waiting for it. Prefer `stop`.
  ELASTIC_DECL ~tcp_store_server();

  tcp_store_server(const tcp_store_server&) = delete;
  tcp_store_server& operator=(const tcp_store_server&) = delete;

  /// The port on which it listens.
  ELASTIC_DECL std::uint16_t port() const;

  /// The address and port on which it listens.
  ELASTIC_DECL elastic::endpoint endpoint() const;

  /// The table that it serves, for use in this process.
  ELASTIC_DECL std::shared_ptr<memory_store> table() const;

  /// How many clients are connected.
  ELASTIC_DECL std::size_t connections() const;

  /// How many of PyTorch's workers have registered. May be called from any thread.
  ELASTIC_DECL std::int64_t announced_workers() const;

  /// The I/O in use: "io_uring" or "epoll".
  ELASTIC_DECL std::string_view io() const;

  /// From now on, serves clients that connect from these addresses, and rejects others, with one
  /// log line for each address.
  ELASTIC_DECL void admit(address_filter filter);

  /// Stops listening, sends pending replies, and disconnects every client, within
  /// `limits::store_farewell`. When this returns, nothing of the server runs. May be called again.
  ///
  /// Cancellation: all types; the server still stops, but nothing waits for it.
  ELASTIC_DECL task<void> stop();

 private:
  friend detail::internals;

  ELASTIC_DECL std::shared_ptr<detail::key_value_engine> engine() const;

  std::shared_ptr<detail::tcp_store_server_core> core_;
};

namespace detail {

/// The part of a server that its coroutines and connections share, so that it lives while they do.
class tcp_store_server_core : public std::enable_shared_from_this<tcp_store_server_core> {
 public:
  using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, store_strand>;
  ELASTIC_DECL tcp_store_server_core(asio::any_io_executor executor,
                                     tcp_store_server::options options);
  ELASTIC_DECL void start();

  // Still sends what is on its way to clients, such as the message that all have arrived: that
  // message often makes the server's owner stop it.
  ELASTIC_DECL task<void> stop();
  ELASTIC_DECL void close();

  ELASTIC_DECL void admit(address_filter filter);

  const store_strand& strand() const { return strand_; }
  const elastic::endpoint& endpoint() const { return endpoint_; }
  const std::shared_ptr<key_value_engine>& engine() const { return engine_; }
  std::size_t connections() const { return connected_.own(); }
  std::string_view io() const { return ring_ ? "io_uring" : "epoll"; }

 private:
  static constexpr std::size_t scratch_bytes = 64 * 1024;
  static constexpr std::chrono::milliseconds pause_without_descriptors{50};

  ELASTIC_DECL void make_ring();

  // Runs `lasting` until the server stops; logs an earlier error, which ends nothing else.
  using self_pointer = std::shared_ptr<tcp_store_server_core>;
  ELASTIC_DECL static task<void> run_and_log(self_pointer server, task<void> lasting);

  // ---- listening -----------------------------------------------------------------------------

  // Listens on all addresses of a name, at one port.
  ELASTIC_DECL void open(const std::vector<asio::ip::address>& addresses);
  ELASTIC_DECL int try_open_besides();

  // Result: 0, or the `errno` of the address that could not be bound. After the first address,
  // those that this host does not have (such as ::1 without IPv6) are skipped.
  ELASTIC_DECL int try_open(const std::vector<asio::ip::address>& addresses);

  // ---- accepting -----------------------------------------------------------------------------

  ELASTIC_DECL task<void> accept_all(acceptor& listening);

  // Accepts all pending clients. Result: 0, or the `errno` that reports a lack of resources.
  ELASTIC_DECL int accept_waiting(acceptor& listening);

  // Whether the client's address is admitted. Logs the first rejection of each address.
  ELASTIC_DECL bool is_admitted(const sockaddr_storage& origin, socklen_t size);

  // The number of connections of all servers that leaves enough descriptors for starting workers.
  ELASTIC_DECL std::size_t most_connections() const;

  // Each server has room for some clients, however many another one has.
  ELASTIC_DECL bool is_full() const;
  ELASTIC_DECL void log_back_off(int problem);

  // Result: null if the reactor cannot take another descriptor.
  ELASTIC_DECL std::shared_ptr<tcp_store_connection> connect(int fd, bool is_v6);
  ELASTIC_DECL void serve(const std::shared_ptr<tcp_store_connection>& connection);

  // ---- rejected and excess clients -----------------------------------------------------------

  ELASTIC_DECL task<void> end_late_newcomers();

  // Closes as many connections as the request wants: first those of clients that have sent nothing
  // yet, then those of the store's clients, the oldest first. The agents' connections stay open.
  ELASTIC_DECL void shed(descriptor_request& request);
  ELASTIC_DECL void lend_descriptors();

  // Logs each address once.
  ELASTIC_DECL void log_stranger(const asio::ip::address& origin, const std::string& why);

  // ---- ends ----------------------------------------------------------------------------------

  ELASTIC_DECL void stop_accepting();

  // A copy, because connections that end leave the table.
  ELASTIC_DECL std::vector<std::shared_ptr<tcp_store_connection>> all_connections() const;
  ELASTIC_DECL void on_connection_gone(tcp_store_connection& connection,
                                       const std::string& complaint);
  ELASTIC_DECL void signal_end();

  store_strand strand_;
  tcp_store_server::options options_;
  std::shared_ptr<key_value_engine> engine_;
  elastic::endpoint endpoint_;
  std::shared_ptr<detail::ring> ring_;
  std::vector<acceptor> acceptors_;
  struct numbered_connection {
    std::uint64_t number;
    std::shared_ptr<tcp_store_connection> client;
  };
  std::unordered_map<tcp_store_connection*, numbered_connection> connections_;
  std::uint64_t last_connection_ = 0;
  client_count connected_;
  const std::size_t descriptors_ = descriptor_limit();
  tcp_store_accounts accounts_;
  std::unique_ptr<char[]> scratch_;
  bool is_closed_ = false;
  bool has_backed_off_ = false;
  std::optional<address_filter> filter_;
  event_flag is_open_;
  event_flag has_newcomers_;
  std::optional<descriptor_lender> lender_;
  time_point resting_until_ = time_point::min();
  std::set<asio::ip::address> strangers_;
  // Signals that no connection is left and none will be accepted.
  event_flag disconnected_;
  task_group tasks_;
};

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/tcp_store_server.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/ring.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/store/detail/tcp_store_connection.hpp>
#include <elastic/store/detail/tcp_store_reactor_connection.hpp>
#include <elastic/store/detail/tcp_store_ring_connection.hpp>
#include <elastic/store/key_value_engine.hpp>
#include <elastic/store/store_extension.hpp>
#include <elastic/store/tcp_store_bounds.hpp>
#include <elastic/store/tcp_store_generation.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace elastic {

struct tcp_store_server_options {
  /// Where to listen: an IPv4 or IPv6 address ("0.0.0.0" and "::" mean every one of this host), or
  /// a name, which means every address that it stands for. Empty: every address of this host.
  std::string address = "127.0.0.1";
  /// 0: one that the system picks.
  std::uint16_t port = 0;
  /// What one client may send.
  tcp_store_bounds bounds;
  tcp_store_legacy_dialect legacy_dialect = tcp_store_legacy_dialect::guess;
  /// Whether the clients' bytes move through an io_uring where the kernel allows one.
  bool use_ring = true;
  logger log;
  /// The table to serve, which others may share; empty: one of its own.
  std::shared_ptr<key_value_engine> engine;
  /// A further protocol on the same port; empty: none.
  std::shared_ptr<store_extension> extension;
  /// Empty: the clocks of the machine.
  std::shared_ptr<time_source> time;
};

namespace detail {

class tcp_store_server_core;

}  // namespace detail

/// A store that processes reach by PyTorch's TCPStore protocol, of 1.13 up to 2.x on one port.
///
/// Listens from the moment that it is made. A client that blocks, is slow, sends half a request or
/// does not read holds up no other. One that breaks the protocol or a bound is disconnected, with
/// one log line at level info. Where file descriptors run out, clients wait to be accepted.
///
/// A fresh key space is a new server; making one takes some ten microseconds.
///
/// Thread-safety: every member may be called from any thread. The server runs on a strand of the
/// executor that it was given; that executor's context must outlive it.
class tcp_store_server {
 public:
  /// Errors: `errc::address_in_use`, naming address and port; `errc::invalid_argument` where the
  /// address is not one of this host, or may not be used; `errc::connection_failed` where the name
  /// cannot be resolved or the system has no socket left.
  tcp_store_server(asio::any_io_executor executor, tcp_store_server_options options);

  /// Closes everything without waiting for it. Prefer `stop`.
  ~tcp_store_server();

  tcp_store_server(const tcp_store_server&) = delete;
  tcp_store_server& operator=(const tcp_store_server&) = delete;

  /// The port on which it listens.
  std::uint16_t port() const;

  /// The address and port on which it listens.
  elastic::endpoint endpoint() const;

  /// The table that it serves.
  std::shared_ptr<key_value_engine> engine() const;

  /// How many clients are connected.
  std::size_t connections() const;

  /// How the clients' bytes move: "io_uring" or "epoll".
  std::string_view io() const;

  /// Stops to listen and disconnects every client, within `limits::store_farewell` after it was
  /// sent what it was answered; nothing of the server runs when this returns. May be called again.
  ///
  /// Cancellation: all types; the server stops nevertheless, only unwaited for.
  task<void> stop();

 private:
  std::shared_ptr<detail::tcp_store_server_core> core_;
};

namespace detail {

// ---- listening sockets ----------------------------------------------------------------------

/// Result: a socket that listens, closed on exec; -1 with `errno` set where there is none.
inline int listen_at(const asio::ip::tcp::endpoint& at) {
  const int fd = ::socket(at.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.address().is_v6()) {
    // "::" is the whole host, IPv4 included; any other address is only itself.
    const int* only = at.address().is_unspecified() ? &off : &on;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof *only);
  }
  if (::bind(fd, at.data(), static_cast<socklen_t>(at.size())) == 0 &&
      ::listen(fd, SOMAXCONN) == 0) {
    return fd;
  }
  const int failure = errno;
  ::close(fd);
  errno = failure;
  return -1;
}

[[noreturn]] inline void throw_cannot_listen(const elastic::endpoint& at, int failure) {
  const std::string where = to_text(at);
  switch (failure) {
    case EADDRINUSE:
      throw error(errc::address_in_use,
                  fmt::format("cannot listen on {}: the address is in use by another program",
                              where));
    case EADDRNOTAVAIL:
      throw error(errc::invalid_argument,
                  fmt::format("cannot listen on {}: this is not an address of this host", where));
    case EACCES:
    case EAFNOSUPPORT:
      throw error(errc::invalid_argument,
                  fmt::format("cannot listen on {}: {}", where, errno_text(failure)));
    default:
      throw error(errc::connection_failed,
                  fmt::format("cannot listen on {}: {}", where, errno_text(failure)));
  }
}

/// What means all addresses of this host: those of IPv4, too, where the kernel knows IPv6.
inline std::string every_address() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "0.0.0.0";
  ::close(fd);
  return "::";
}

/// The addresses that `host` stands for. Blocks where a resolver has to be asked.
inline std::vector<asio::ip::address> addresses_of(asio::any_io_executor executor,
                                                   const std::string& host) {
  using asio::ip::address;
  asio::error_code failure;
  const address literal = asio::ip::make_address(host, failure);
  if (!failure) return {literal};
  std::vector<address> found;
  if (host == "localhost") {
    found.emplace_back(asio::ip::address_v4::loopback());
    found.emplace_back(asio::ip::address_v6::loopback());
    return found;
  }
  asio::ip::tcp::resolver resolver(std::move(executor));
  const auto entries = resolver.resolve(host, "", failure);
  if (failure || host.empty()) {
    throw error(errc::connection_failed,
                fmt::format("cannot listen on '{}': the name cannot be resolved ({})", host,
                            failure.message()));
  }
  for (const auto& entry : entries) {
    const address next = entry.endpoint().address();
    if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(next);
  }
  return found;
}

// ---- the server -----------------------------------------------------------------------------

/// The part of a server that its coroutines and connections share, so that it lives while they do.
class tcp_store_server_core : public std::enable_shared_from_this<tcp_store_server_core> {
 public:
  using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, store_strand>;

  tcp_store_server_core(asio::any_io_executor executor, tcp_store_server_options options)
      : strand_(asio::make_strand(executor)),
        options_(std::move(options)),
        scratch_(std::make_unique_for_overwrite<char[]>(scratch_bytes)),
        ended_(strand_) {
    if (!options_.engine) options_.engine = std::make_shared<key_value_engine>();
    if (!options_.time) options_.time = std::make_shared<system_time>();
    if (options_.use_ring) make_ring();
    if (options_.address.empty()) options_.address = every_address();
    open(addresses_of(executor, options_.address));
    options_.log.debug("store: listening at {} (I/O: {})", to_text(endpoint_), io());
  }

  void start() {
    if (options_.extension) start_one(options_.extension->run());
    for (acceptor& listening : acceptors_) start_one(accept_all(listening));
  }

  // What is on its way to a client still goes out, such as the word that all have met: the stop
  // of a server is often what that word leads to.
  task<void> stop() {
    stop_accepting();
    for (const auto& connection : all_connections()) connection->finish();
    time_source& time = *options_.time;
    try {
      co_await with_deadline(time, time.now() + limits::store_farewell, ended_.wait());
    } catch (...) {
      close();
      throw;
    }
    close();
    co_await ended_.wait();
  }

  void close() {
    stop_accepting();
    for (const auto& connection : all_connections()) connection->close();
  }

  const store_strand& strand() const { return strand_; }
  const elastic::endpoint& endpoint() const { return endpoint_; }
  std::shared_ptr<key_value_engine> engine() const { return options_.engine; }
  std::size_t connections() const { return connected_.load(std::memory_order_relaxed); }
  std::string_view io() const { return ring_ ? "io_uring" : "epoll"; }

 private:
  static constexpr std::size_t scratch_bytes = 64 * 1024;
  static constexpr std::chrono::milliseconds pause_without_descriptors{50};

  void make_ring() {
    std::string why_not;
    ring_ = ring::try_make(strand_, ring_options{}, &why_not);
    if (!ring_) options_.log.debug("store: goes on without io_uring: {}", why_not);
  }

  // What runs until the server stops.
  void start_one(task<void> lasting) {
    ++running_;
    auto on_end = [self = shared_from_this()](std::exception_ptr failure) {
      self->on_lasting_ended(failure);
    };
    cancels_.push_back(std::make_unique<asio::cancellation_signal>());
    asio::co_spawn(strand_, std::move(lasting),
                   asio::bind_cancellation_slot(cancels_.back()->slot(), std::move(on_end)));
  }

  // ---- listening -----------------------------------------------------------------------------

  // A name with several addresses listens on all of them, at one port.
  void open(const std::vector<asio::ip::address>& addresses) {
    constexpr int most_tries = 16;
    for (int attempt = 1;; ++attempt) {
      const int failure = try_open(addresses);
      if (failure == 0) return;
      // A port that was free at the first address may be taken at the second.
      const bool try_another_port =
          failure == EADDRINUSE && options_.port == 0 && attempt < most_tries;
      acceptors_.clear();
      if (!try_another_port) {
        throw_cannot_listen(elastic::endpoint{options_.address, options_.port}, failure);
      }
    }
  }

  // Result: 0, or the `errno` of the address that could not be bound. Addresses behind the first
  // that this host does not have (such as ::1 without IPv6) are left out.
  int try_open(const std::vector<asio::ip::address>& addresses) {
    endpoint_ = elastic::endpoint{options_.address, options_.port};
    int failure = EADDRNOTAVAIL;
    for (const auto& address : addresses) {
      const asio::ip::tcp::endpoint at(address, endpoint_.port);
      const int fd = listen_at(at);
      if (fd < 0) {
        const bool is_absent = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
        if (is_absent && addresses.size() > 1) continue;
        return errno;
      }
      acceptors_.emplace_back(strand_, at.protocol(), fd);
      endpoint_.port = acceptors_.back().local_endpoint().port();
      failure = 0;
    }
    return failure;
  }

  // ---- accepting -----------------------------------------------------------------------------

  task<void> accept_all(acceptor& listening) {
    while (!is_closed_) {
      auto [failure] = co_await listening.async_wait(acceptor::wait_read, as_result);
      if (is_closed_ || failure) co_return;
      const int problem = accept_waiting(listening);
      if (problem != 0 && !is_closed_) {
        note_back_off(problem);
        co_await options_.time->sleep_until(options_.time->now() + pause_without_descriptors);
      }
    }
  }

  // Accepts all that wait. Result: 0, or the `errno` that says that there is no room for more.
  int accept_waiting(acceptor& listening) {
    constexpr int most_at_once = 64;
    for (int count = 0; count < most_at_once; ++count) {
      if (connections_.size() >= most_connections_) return EMFILE;
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      // A ring waits for a socket in blocking mode by itself, and not for one that is not.
      const int mode = ring_ ? SOCK_CLOEXEC : SOCK_CLOEXEC | SOCK_NONBLOCK;
      const int fd = ::accept4(listening.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                               mode);
      if (fd >= 0) {
        has_backed_off_ = false;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        serve(connect(fd, from.ss_family == AF_INET6));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      const bool has_no_room =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      // Anything else is the fate of one client, which has gone again meanwhile.
      if (has_no_room) return errno;
    }
    return 0;
  }

  // How many connections leave descriptors to others: workers have to be started, too.
  static std::size_t spare_descriptors() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    const auto all = static_cast<std::size_t>(files.rlim_cur);
    return all - std::min(all / 4, limits::store_spared_descriptors);
  }

  void note_back_off(int problem) {
    if (std::exchange(has_backed_off_, true)) return;
    options_.log.warning("store at {}: clients wait to be accepted: {}", to_text(endpoint_),
                         errno_text(problem));
  }

  // Result: null where the reactor cannot take one more.
  std::shared_ptr<tcp_store_connection> connect(int fd, bool is_v6) {
    auto on_gone = [weak = weak_from_this()](tcp_store_connection& connection,
                                             const std::string& complaint) {
      if (const auto self = weak.lock()) self->on_connection_gone(connection, complaint);
    };
    if (ring_) {
      return std::make_shared<tcp_store_ring_connection>(
          fd, ring_, strand_, options_.engine, options_.bounds, options_.legacy_dialect,
          std::move(on_gone));
    }
    tcp_store_reactor_connection::socket peer(strand_);
    asio::error_code failure;
    peer.assign(is_v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd, failure);
    if (failure) {
      ::close(fd);
      options_.log.warning("store at {}: a client was turned away: {}", to_text(endpoint_),
                           failure.message());
      return nullptr;
    }
    peer.non_blocking(true, failure);
    return std::make_shared<tcp_store_reactor_connection>(
        std::move(peer), std::span<char>(scratch_.get(), scratch_bytes), options_.engine,
        options_.bounds, options_.legacy_dialect, std::move(on_gone));
  }

  void serve(const std::shared_ptr<tcp_store_connection>& connection) {
    if (!connection) return;
    connections_.emplace(connection.get(), connection);
    connected_.store(connections_.size(), std::memory_order_relaxed);
    connection->start(options_.extension);
  }

  // ---- ends ----------------------------------------------------------------------------------

  void stop_accepting() {
    if (std::exchange(is_closed_, true)) return;
    for (acceptor& listening : acceptors_) {
      asio::error_code ignored;
      listening.close(ignored);
    }
    for (auto& cancel : cancels_) cancel->emit(asio::cancellation_type::terminal);
    note_end();
  }

  // A copy, since those that end leave the table.
  std::vector<std::shared_ptr<tcp_store_connection>> all_connections() const {
    std::vector<std::shared_ptr<tcp_store_connection>> all;
    for (const auto& [key, connection] : connections_) all.push_back(connection);
    return all;
  }

  void on_connection_gone(tcp_store_connection& connection, const std::string& complaint) {
    if (!complaint.empty()) {
      options_.log.info("store at {}: disconnected a client: {}", to_text(endpoint_), complaint);
    }
    connections_.erase(&connection);
    connected_.store(connections_.size(), std::memory_order_relaxed);
    note_end();
  }

  void on_lasting_ended(const std::exception_ptr& failure) {
    --running_;
    if (failure && !is_closed_) {
      options_.log.error("store at {}: no client is served in full any more", to_text(endpoint_));
    }
    note_end();
  }

  void note_end() {
    if (is_closed_ && running_ == 0 && connections_.empty()) ended_.set();
  }

  store_strand strand_;
  tcp_store_server_options options_;
  elastic::endpoint endpoint_;
  std::shared_ptr<ring> ring_;
  std::vector<acceptor> acceptors_;
  std::vector<std::unique_ptr<asio::cancellation_signal>> cancels_;
  std::unordered_map<tcp_store_connection*, std::shared_ptr<tcp_store_connection>> connections_;
  std::atomic<std::size_t> connected_ = 0;
  std::size_t most_connections_ = spare_descriptors();
  std::unique_ptr<char[]> scratch_;
  int running_ = 0;
  bool is_closed_ = false;
  bool has_backed_off_ = false;
  event_flag ended_;
};

}  // namespace detail

inline tcp_store_server::tcp_store_server(asio::any_io_executor executor,
                                          tcp_store_server_options options)
    : core_(std::make_shared<detail::tcp_store_server_core>(std::move(executor),
                                                            std::move(options))) {
  core_->start();
}

inline tcp_store_server::~tcp_store_server() {
  asio::dispatch(core_->strand(), [core = core_] { core->close(); });
}

inline std::uint16_t tcp_store_server::port() const { return core_->endpoint().port; }

inline elastic::endpoint tcp_store_server::endpoint() const { return core_->endpoint(); }

inline std::shared_ptr<key_value_engine> tcp_store_server::engine() const {
  return core_->engine();
}

inline std::size_t tcp_store_server::connections() const { return core_->connections(); }

inline std::string_view tcp_store_server::io() const {
  return core_->io();
}

inline task<void> tcp_store_server::stop() {
  const auto core = core_;
  co_await asio::co_spawn(core->strand(), core->stop(), asio::use_awaitable);
}

}  // namespace elastic

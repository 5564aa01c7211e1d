// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/tcp_store_server.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/socket_hook.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/store/detail/store_meter.hpp>
#include <elastic/store/detail/tcp_store_reactor_connection.hpp>
#include <elastic/store/detail/tcp_store_ring_connection.hpp>
#include <elastic/store/memory_store.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

[[noreturn]] inline void throw_cannot_listen(const elastic::endpoint& address, int failure) {
  const std::string where = to_text(address);
  switch (failure) {
    case EADDRINUSE:
      throw error(
          errc::address_in_use,
          fmt::format("cannot listen on {}: the address is in use by another program", where));
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

/// The address that means all addresses of this host, including those of IPv4 if the kernel
/// supports IPv6.
inline std::string every_address() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "0.0.0.0";
  ::close(fd);
  return "::";
}

/// The addresses to which `host` resolves. Blocks if it needs a resolver.
inline std::vector<asio::ip::address> addresses_of(asio::any_io_executor executor,
                                                   const std::string& host) {
  using asio::ip::address;
  asio_error_code failure;
  const address literal = asio::ip::make_address(host, failure);
  if (!failure) return {literal};
  std::vector<address> list;
  if (host == "localhost") {
    list.emplace_back(asio::ip::address_v4::loopback());
    list.emplace_back(asio::ip::address_v6::loopback());
    return list;
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
    if (std::find(list.begin(), list.end(), next) == list.end()) list.push_back(next);
  }
  return list;
}

ELASTIC_DECL tcp_store_server_core::tcp_store_server_core(asio::any_io_executor executor,
                                                          tcp_store_server::options options)
    : strand_(asio::make_strand(executor)),
      options_(std::move(options)),
      is_open_(strand_),
      has_newcomers_(strand_),
      disconnected_(strand_),
      tasks_(strand_) {
  engine_ = options_.table ? internals::engine_of(*options_.table) : new_shared<key_value_engine>();
  const auto& extras = internals::of(options_);
  if (extras.meter) {
    engine_->count_by(extras.meter);
    extras.meter->add(engine_);
  }
  if (!options_.time) options_.time = new_shared<system_time>();
  accounts_.all = new_shared<tcp_store_budget>(extras.bounds.clients_bytes);
  // Newcomers may use half of the descriptors at most.
  accounts_.newcomers = new_shared<tcp_store_newcomers>(
      options_.time, std::min(limits::store_newcomers, most_connections() / 2),
      [this] { has_newcomers_.set(); },
      options_.secret ? duration(tcp_store_newcomers::handshake_time) : duration::zero());
  if (options_.use_ring) make_ring();
  if (options_.address.empty()) options_.address = every_address();
  open(addresses_of(executor, options_.address));
  options_.log.debug("store: listening at {} (I/O: {})", to_text(endpoint_), io());
}

ELASTIC_DECL void tcp_store_server_core::start() {
  const auto self = shared_from_this();
  const auto& extension = internals::of(options_).extension;
  if (extension) tasks_.spawn(run_and_log(self, extension->run()));
  tasks_.spawn(run_and_log(self, end_late_newcomers()));
  lend_descriptors();
  for (acceptor& listening : acceptors_) tasks_.spawn(run_and_log(self, accept_all(listening)));
}

ELASTIC_DECL task<void> tcp_store_server_core::stop() {
  stop_accepting();
  for (const auto& connection : all_connections()) connection->finish();
  time_source& time = *options_.time;
  try {
    co_await with_deadline(time, time.now() + limits::store_farewell, disconnected_.wait());
  } catch (...) {
    close();
    throw;
  }
  close();
  co_await disconnected_.wait();
  co_await tasks_.stop();
}

ELASTIC_DECL void tcp_store_server_core::close() {
  stop_accepting();
  for (const auto& connection : all_connections()) connection->close();
}

ELASTIC_DECL void tcp_store_server_core::make_ring() {
  std::string why_not;
  ring_ = detail::ring::try_make(strand_, {}, &why_not);
  if (!ring_) options_.log.debug("store: continues without io_uring: {}", why_not);
}

ELASTIC_DECL task<void> tcp_store_server_core::run_and_log(self_pointer server,
                                                           task<void> lasting) {
  try {
    co_await std::move(lasting);
  } catch (const std::exception& failure) {
    if (server->is_closed_) co_return;
    server->options_.log.error("store at {}: clients are no longer served in full: {}",
                               to_text(server->endpoint_), failure.what());
  }
}

ELASTIC_DECL void tcp_store_server_core::open(const std::vector<asio::ip::address>& addresses) {
  constexpr int most_tries = 16;
  for (int attempt = 1;; ++attempt) {
    int failure = try_open(addresses);
    if (failure == 0) failure = try_open_besides();
    if (failure == 0) return;
    // A port that is free at the first address may be taken at the second.
    const bool try_another_port =
        failure == EADDRINUSE && options_.port == 0 && attempt < most_tries;
    acceptors_.clear();
    if (!try_another_port) {
      throw_cannot_listen(elastic::endpoint{options_.address, options_.port}, failure);
    }
  }
}

ELASTIC_DECL int tcp_store_server_core::try_open(const std::vector<asio::ip::address>& addresses) {
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

ELASTIC_DECL int tcp_store_server_core::try_open_besides() {
  for (const auto& address : options_.besides) {
    const asio::ip::tcp::endpoint at(address, endpoint_.port);
    const auto is_it = [&at](const acceptor& entry) { return entry.local_endpoint() == at; };
    if (std::any_of(acceptors_.begin(), acceptors_.end(), is_it)) continue;
    const int fd = listen_at(at);
    if (fd >= 0) acceptors_.emplace_back(strand_, at.protocol(), fd);
    const bool is_absent = fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT);
    if (fd < 0 && !is_absent) return errno;
  }
  return 0;
}

ELASTIC_DECL void tcp_store_server_core::admit(address_filter filter) {
  filter_ = std::move(filter);
  is_open_.set();
}

ELASTIC_DECL task<void> tcp_store_server_core::accept_all(acceptor& listening) {
  if (options_.waits_for_filter) co_await is_open_.wait();
  while (!is_closed_) {
    auto [failure] = co_await listening.async_wait(acceptor::wait_read, as_result);
    if (is_closed_ || failure) co_return;
    const int problem = accept_waiting(listening);
    if (problem != 0 && !is_closed_) {
      log_back_off(problem);
      co_await options_.time->sleep_until(options_.time->now() + pause_without_descriptors);
    }
  }
}

ELASTIC_DECL int tcp_store_server_core::accept_waiting(acceptor& listening) {
  constexpr int most_at_once = 64;
  for (int count = 0; count < most_at_once; ++count) {
    if (is_full()) return EMFILE;
    sockaddr_storage origin{};
    socklen_t size = sizeof origin;
    // A ring waits for a socket in blocking mode by itself, but not for a non-blocking one.
    const int mode = ring_ ? SOCK_CLOEXEC : SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int fd =
        ::accept4(listening.native_handle(), reinterpret_cast<sockaddr*>(&origin), &size, mode);
    if (fd >= 0 && !is_admitted(origin, size)) {
      ::close(fd);
      continue;
    }
    if (fd >= 0) {
      has_backed_off_ = false;
      detail::call_socket_hook(fd);
      serve(connect(fd, origin.ss_family == AF_INET6));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    const bool has_no_room =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    // Any other error concerns one client, which has left meanwhile.
    if (has_no_room) return errno;
  }
  return 0;
}

ELASTIC_DECL bool tcp_store_server_core::is_admitted(const sockaddr_storage& origin,
                                                     socklen_t size) {
  if (!filter_) return true;
  asio::ip::tcp::endpoint end;
  std::memcpy(end.data(), &origin, std::min<std::size_t>(size, end.capacity()));
  const asio::ip::address address = plain_address(end.address());
  if (filter_->admits(address)) return true;
  log_stranger(address, "it is not an address of a node of this round");
  return false;
}

ELASTIC_DECL std::size_t tcp_store_server_core::most_connections() const {
  const std::size_t quarter = descriptors_ / 4;
  const std::size_t spared =
      std::min(quarter, limits::store_spared_descriptors) + descriptor_need::of_all();
  return descriptors_ - std::min(spared, 3 * quarter);
}

ELASTIC_DECL bool tcp_store_server_core::is_full() const {
  constexpr std::size_t always = 8;
  if (options_.time->now() < resting_until_ && connections_.size() >= always) return true;
  return client_count::of_all_servers() >= most_connections() && connections_.size() >= always;
}

ELASTIC_DECL void tcp_store_server_core::log_back_off(int problem) {
  if (std::exchange(has_backed_off_, true)) return;
  options_.log.warning("store at {}: clients wait to be accepted: {}", to_text(endpoint_),
                       errno_text(problem));
}

ELASTIC_DECL std::shared_ptr<tcp_store_connection> tcp_store_server_core::connect(int fd,
                                                                                  bool is_v6) {
  auto on_gone = [weak = weak_from_this()](tcp_store_connection& connection,
                                           const std::string& complaint) {
    if (const auto self = weak.lock()) self->on_connection_gone(connection, complaint);
  };
  const auto& extras = internals::of(options_);
  if (ring_) {
    return new_shared<tcp_store_ring_connection>(fd, ring_, strand_, engine_, extras.bounds,
                                                 extras.legacy_dialect, accounts_,
                                                 std::move(on_gone));
  }
  tcp_store_reactor_connection::socket peer(strand_);
  asio_error_code failure;
  peer.assign(is_v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd, failure);
  if (failure) {
    ::close(fd);
    options_.log.warning("store at {}: a client was turned away: {}", to_text(endpoint_),
                         failure.message());
    return nullptr;
  }
  peer.non_blocking(true, failure);
  if (!scratch_) scratch_ = std::make_unique_for_overwrite<char[]>(scratch_bytes);
  return new_shared<tcp_store_reactor_connection>(
      std::move(peer), std::span<char>(scratch_.get(), scratch_bytes), engine_, extras.bounds,
      extras.legacy_dialect, accounts_, std::move(on_gone));
}

ELASTIC_DECL void tcp_store_server_core::serve(
    const std::shared_ptr<tcp_store_connection>& connection) {
  if (!connection) return;
  connections_.emplace(connection.get(), numbered_connection{++last_connection_, connection});
  connected_.set(connections_.size());
  connection->start(internals::of(options_).extension, options_.secret);
}

ELASTIC_DECL task<void> tcp_store_server_core::end_late_newcomers() {
  for (;;) {
    co_await has_newcomers_.wait();
    while (const auto due = accounts_.newcomers->next_deadline()) {
      co_await options_.time->sleep_until(*due);
      accounts_.newcomers->end_late();
    }
    has_newcomers_.reset();
  }
}

ELASTIC_DECL void tcp_store_server_core::lend_descriptors() {
  if (is_closed_) return;
  lender_.emplace([weak = weak_from_this(), strand = strand_](descriptor_lender::request request) {
    post_work(strand, [weak, request] {
      if (const auto self = weak.lock()) self->shed(*request);
      --request->unanswered;
    });
  });
}

ELASTIC_DECL void tcp_store_server_core::shed(descriptor_request& request) {
  std::vector<numbered_connection> clients;
  for (const auto& [key, connection] : connections_) {
    if (!connection.client->is_of_extension()) clients.push_back(connection);
  }
  std::sort(clients.begin(), clients.end(), [](const auto& a, const auto& b) {
    if (a.client->has_begun() != b.client->has_begun()) return b.client->has_begun();
    return a.number < b.number;
  });
  for (const auto& [number, client] : clients) {
    // Other servers reduce it at the same time.
    std::size_t left = request.wanted;
    while (left != 0 && !request.wanted.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 0) return;
    ++request.given;
    // Pending clients must not take the descriptors that were given up.
    resting_until_ = options_.time->now() + limits::descriptor_patience;
    client->drop("its file descriptor is needed for a worker");
  }
}

ELASTIC_DECL void tcp_store_server_core::log_stranger(const asio::ip::address& origin,
                                                      const std::string& why) {
  if (strangers_.size() >= limits::store_refused_addresses) return;
  if (!strangers_.insert(origin).second) return;
  options_.log.warning("port {}: turned away {}: {}; its further refusals are not logged",
                       endpoint_.port, origin.to_string(), why);
}

ELASTIC_DECL void tcp_store_server_core::stop_accepting() {
  if (std::exchange(is_closed_, true)) return;
  for (acceptor& listening : acceptors_) {
    asio_error_code ignored;
    listening.close(ignored);
  }
  lender_.reset();
  tasks_.cancel();
  signal_end();
}

ELASTIC_DECL std::vector<std::shared_ptr<tcp_store_connection>>
tcp_store_server_core::all_connections() const {
  std::vector<std::shared_ptr<tcp_store_connection>> list;
  for (const auto& [key, connection] : connections_) list.push_back(connection.client);
  return list;
}

ELASTIC_DECL void tcp_store_server_core::on_connection_gone(tcp_store_connection& connection,
                                                            const std::string& complaint) {
  if (!complaint.empty() && !connection.is_trusted()) {
    log_stranger(connection.peer(), complaint);
  } else if (!complaint.empty()) {
    options_.log.info("store at {}: disconnected a client: {}", to_text(endpoint_), complaint);
  }
  connections_.erase(&connection);
  connected_.set(connections_.size());
  signal_end();
}

ELASTIC_DECL void tcp_store_server_core::signal_end() {
  if (is_closed_ && connections_.empty()) disconnected_.set();
}

}  // namespace detail

ELASTIC_DECL tcp_store_server::tcp_store_server(asio::any_io_executor executor, options settings)
    : core_(detail::new_shared<detail::tcp_store_server_core>(std::move(executor),
                                                              std::move(settings))) {
  detail::dispatch_work(core_->strand(), [core = core_] { core->start(); });
}

ELASTIC_DECL tcp_store_server::~tcp_store_server() {
  detail::dispatch_work(core_->strand(), [core = core_] { core->close(); });
}

ELASTIC_DECL std::uint16_t tcp_store_server::port() const { return core_->endpoint().port; }

ELASTIC_DECL elastic::endpoint tcp_store_server::endpoint() const { return core_->endpoint(); }

ELASTIC_DECL std::shared_ptr<detail::key_value_engine> tcp_store_server::engine() const {
  return core_->engine();
}

ELASTIC_DECL std::shared_ptr<memory_store> tcp_store_server::table() const {
  return detail::internals::make<memory_store>(core_->engine());
}

ELASTIC_DECL std::size_t tcp_store_server::connections() const { return core_->connections(); }

ELASTIC_DECL std::int64_t tcp_store_server::announced_workers() const {
  const std::string count = core_->engine()->find(detail::workers_key).value_or("0");
  std::int64_t number = 0;
  std::from_chars(count.data(), count.data() + count.size(), number);
  return number;
}

ELASTIC_DECL std::string_view tcp_store_server::io() const { return core_->io(); }

ELASTIC_DECL void tcp_store_server::admit(address_filter filter) {
  const auto shared = detail::new_shared<address_filter>(std::move(filter));
  detail::dispatch_work(core_->strand(),
                        [core = core_, shared] { core->admit(std::move(*shared)); });
}

ELASTIC_DECL task<void> tcp_store_server::stop() {
  const auto core = core_;
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  co_await detail::run_on(core->strand(), core->stop(), cancellation.slot());
}

}  // namespace elastic

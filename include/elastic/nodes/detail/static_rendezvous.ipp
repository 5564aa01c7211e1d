// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/static_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/listen_point.hpp>
#include <elastic/rendezvous/detail/name_wait.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

inline const std::string static_exit_count = "elastic/static/num_left";
inline const std::string static_exit_last = "elastic/static/last_left";

/// Reports that a node other than 0 has passed the exit barrier and will send no further request.
inline task<void> report_exit(std::shared_ptr<store> agents, int other_nodes) {
  try {
    const std::int64_t count = co_await agents->add(static_exit_count, 1);
    if (count < other_nodes) co_return;
    const std::string value;
    co_await agents->set(static_exit_last, value);
  } catch (const std::runtime_error&) {
    // Node 0 has stopped waiting, so the report is no longer needed.
    if (is_cancellation(std::current_exception())) throw;
  }
}

inline task<void> wait_for_exits(std::shared_ptr<store> agents) {
  co_await agents->get(static_exit_last);
}

ELASTIC_DECL static_rendezvous::static_rendezvous(rendezvous_parameters parameters)
    : parameters_(std::move(parameters)) {
  check_nodes(parameters_);
  if (parameters_.min_nodes != parameters_.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("the static rendezvous needs a fixed number of nodes, not {}:{}",
                            parameters_.min_nodes, parameters_.max_nodes));
  }
  if (parameters_.node_rank < 0 || parameters_.node_rank >= parameters_.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("{} {}: with {} nodes it is 0 to {}", parameters_.name_of("node_rank"),
                            parameters_.node_rank, parameters_.max_nodes,
                            parameters_.max_nodes - 1));
  }
  endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "127.0.0.1" : parameters_.endpoint,
                             default_port);
  if (parameters_.max_nodes > 1) check_port(endpoint_, parameters_);
  parameters_.listens_everywhere();
  timeout_ = static_patience(parameters_);
  parameters_.check_conf({"timeout", "listen"});
}

ELASTIC_DECL task<rendezvous_round> static_rendezvous::next_round() {
  check_open();
  if (parameters_.max_nodes == 1) {
    // No other node holds a connection, so each round can have an empty store at the same port.
    co_await shutdown();
  }
  if (!agents_) co_await connect();
  rendezvous_round round;
  round.round = round_++;
  round.group_rank = parameters_.node_rank;
  round.group_world_size = parameters_.max_nodes;
  round.agents = new_shared<prefix_store>(parameters_.run_id, agents_);
  round.exchange_timeout = timeout_;
  round.restarts = restarts();
  round.master.address = endpoint_.host;
  round.master.port = server_ ? server_->port() : endpoint_.port;
  round.master.served_by_agent = true;
  co_return round;
}

ELASTIC_DECL task<void> static_rendezvous::exit_barrier() {
  auto agents = new_shared<prefix_store>(parameters_.run_id, agents_);
  co_await elastic::exit_barrier(agents, parameters_.max_nodes);
  const int other_nodes = parameters_.max_nodes - 1;
  if (other_nodes == 0) co_return;
  if (parameters_.node_rank != 0) {
    co_await report_exit(std::move(agents), other_nodes);
    co_return;
  }
  // The last node may pass the barrier while another one has arrived but has not yet asked whether
  // all have.
  time_source& time = *parameters_.time;
  co_await with_deadline(time, time.now() + exit_timeout, wait_for_exits(std::move(agents)));
}

ELASTIC_DECL task<void> static_rendezvous::shutdown() {
  agents_.reset();
  const std::unique_ptr<tcp_store_server> ending = std::move(server_);
  if (ending) co_await ending->stop();
}

/// The address at which node 0 serves.
inline task<listen_point> point_of_server(std::string host) {
  const std::vector<asio::ip::address> addresses = co_await resolve_addresses(host);
  const bool has_loopback =
      std::any_of(addresses.begin(), addresses.end(),
                  [](const auto& address) { return plain_address(address).is_loopback(); });
  listen_point point = co_await find_listen_point(host);
  // An address of another host is a mistake. The server's error names it.
  if (point.address.empty() && !has_loopback) point.address = host;
  co_return point;
}

ELASTIC_DECL task<void> static_rendezvous::connect() {
  auto executor = co_await asio::this_coro::executor;
  if (parameters_.node_rank == 0) {
    co_await wait_for_name(endpoint_.host, timeout_, parameters_);
    auto table = new_shared<key_value_engine>();
    tcp_store_server::options options;
    listen_point point;
    if (!parameters_.listens_everywhere()) point = co_await point_of_server(endpoint_.host);
    options.address = point.address;
    options.besides = point.besides;
    options.port = endpoint_.port;
    options.use_ring = parameters_.use_ring;
    options.log = parameters_.log;
    internals::of(options).meter = internals::of(parameters_).meter;
    options.table = internals::make<memory_store>(table);
    server_ = std::make_unique<tcp_store_server>(executor, options);
    agents_ = internals::make<memory_store>(table);
    co_return;
  }
  tcp_store::options options;
  options.host = endpoint_.host;
  options.port = endpoint_.port;
  options.log = parameters_.log;
  // A node of torchrun that serves waits until all others have announced themselves to the store.
  options.announce_worker = true;
  auto client = new_shared<tcp_store>(executor, options);
  if (!co_await with_deadline(*parameters_.time, parameters_.time->now() + timeout_,
                              client->connect())) {
    throw error(errc::rendezvous_timeout,
                fmt::format("node 0 did not answer at {}:{} within {} s: {}", endpoint_.host,
                            endpoint_.port, std::chrono::duration<double>(timeout_).count(),
                            client->last_problem()));
  }
  agents_ = std::move(client);
}

}  // namespace elastic::detail

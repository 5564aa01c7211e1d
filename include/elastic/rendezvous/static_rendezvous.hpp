// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous named "static": who is in, and at which rank, was decided by whoever started the
/// nodes (`--node-rank`). Node 0 serves one store at the endpoint, for agents and workers alike.
///
/// Nobody joins, leaves or is missed; a restart is each node's own. The membership never changes.
/// Settings: `timeout`, seconds that the nodes wait for each other (900).
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.static_tcp_rendezvous.
class static_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an endpoint that is none, a range of nodes, or a node
  /// rank outside of it.
  explicit static_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)) {
    if (parameters_.min_nodes != parameters_.max_nodes) {
      throw error(errc::invalid_argument,
                  fmt::format("the static rendezvous needs a fixed number of nodes, not {}:{}",
                              parameters_.min_nodes, parameters_.max_nodes));
    }
    if (parameters_.node_rank < 0 || parameters_.node_rank >= parameters_.max_nodes) {
      throw error(errc::invalid_argument,
                  fmt::format("--node-rank {}: with {} nodes it is 0 to {}", parameters_.node_rank,
                              parameters_.max_nodes, parameters_.max_nodes - 1));
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "127.0.0.1" : parameters_.endpoint,
                               default_port);
    timeout_ = parameters_.seconds("timeout", std::chrono::seconds(900));
    parameters_.warn_of_unused({"timeout"});
  }

  std::string backend() const override { return "static"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (closed_) {
      throw error(errc::rendezvous_closed, "the rendezvous is closed: the job has ended");
    }
    if (parameters_.max_nodes == 1) {
      // Nobody else holds a connection, so each round can have an empty store at the same port.
      co_await shutdown();
    }
    if (!agents_) co_await connect();
    rendezvous_round met;
    met.round = round_++;
    met.group_rank = parameters_.node_rank;
    met.group_world_size = parameters_.max_nodes;
    met.agents = std::make_shared<prefix_store>(parameters_.run_id, agents_);
    met.exchange_timeout = timeout_;
    met.restarts = restarts_;
    met.master.address = endpoint_.host;
    met.master.port = server_ ? server_->port() : endpoint_.port;
    met.master.served_by_agent = true;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    event_flag never(co_await asio::this_coro::executor);
    co_await never.wait();
    co_return rendezvous_change{};
  }

  task<rendezvous_change> report_failure(std::string what) override {
    rendezvous_change change{change_kind::worker_failed, std::move(what), ++restarts_};
    co_return change;
  }

  task<void> exit_barrier() override {
    auto agents = std::make_shared<prefix_store>(parameters_.run_id, agents_);
    co_await elastic::exit_barrier(std::move(agents), parameters_.max_nodes);
  }

  task<int> num_nodes_waiting() override { co_return 0; }
  task<bool> is_closed() override { co_return closed_; }

  task<void> close(job_end, std::string) override {
    closed_ = true;
    co_return;
  }

  task<void> shutdown() override {
    agents_.reset();
    const std::unique_ptr<tcp_store_server> ending = std::move(server_);
    if (ending) co_await ending->stop();
  }

 private:
  static constexpr std::uint16_t default_port = 29500;

  task<void> connect() {
    auto executor = co_await asio::this_coro::executor;
    if (parameters_.node_rank == 0) {
      auto table = std::make_shared<key_value_engine>();
      tcp_store_server_options options;
      options.address = endpoint_.host;
      options.port = endpoint_.port;
      options.use_ring = parameters_.use_ring;
      options.log = parameters_.log;
      options.engine = table;
      server_ = std::make_unique<tcp_store_server>(executor, options);
      agents_ = std::make_shared<memory_store>(table);
      co_return;
    }
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.log = parameters_.log;
    auto client = std::make_shared<tcp_store>(executor, options);
    if (!co_await with_deadline(*parameters_.time, parameters_.time->now() + timeout_,
                                client->connect())) {
      throw error(errc::rendezvous_timeout,
                  fmt::format("node 0 did not answer at {}:{} within {} s: {}", endpoint_.host,
                              endpoint_.port, std::chrono::duration<double>(timeout_).count(),
                              client->last_problem()));
    }
    agents_ = std::move(client);
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  duration timeout_;
  std::unique_ptr<tcp_store_server> server_;
  std::shared_ptr<store> agents_;
  std::int64_t round_ = 0;
  int restarts_ = 0;
  bool closed_ = false;
};

}  // namespace elastic

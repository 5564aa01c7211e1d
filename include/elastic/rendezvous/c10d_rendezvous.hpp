// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/tcp_message_channel.hpp>
#include <elastic/rendezvous/detail/rendezvous_link.hpp>
#include <elastic/rendezvous/detail/torch_agent_watch.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_service.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous named "c10d": nodes meet at a store server that one of them hosts.
///
/// Each node holds one connection to the server, says what it wants and is told what comes of it:
/// a round costs O(N) messages, and a node that dies is seen by the end of its connection.
/// docs/design.md has the protocol, docs/guide.md the settings (`--rdzv-conf`).
///
/// Thread-safety: one strand at a time.
class c10d_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or a setting
  /// out of bounds.
  explicit c10d_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)), workers_(parameters_) {
    if (parameters_.run_id.empty()) {
      throw error(errc::invalid_argument, "--rdzv-id must not be empty for the c10d rendezvous");
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
    if (endpoint_.port == 0) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-endpoint '{}': several nodes need a port that they all know",
                              parameters_.endpoint));
    }
    settings_ = parameters_.settings();
    is_host_ = parameters_.yes_or_no("is_host");
    parameters_.warn_of_unused({"is_host", "join_timeout", "last_call_timeout", "close_timeout",
                                "heartbeat_timeout", "keep_alive_interval",
                                "keep_alive_max_attempt", "reconnect_grace", "read_timeout",
                                "timeout", "dialect"});
  }

  /// The same at a server that is reached by `connector`, and whose store is `agents`. Nothing is
  /// hosted, and the endpoint is not looked at.
  c10d_rendezvous(rendezvous_parameters parameters, std::shared_ptr<message_connector> connector,
                  std::shared_ptr<store> agents)
      : c10d_rendezvous(std::move(parameters)) {
    connector_ = std::move(connector);
    agents_ = std::move(agents);
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    co_await workers_.stop();
    if (!link_) co_await begin();
    throw_if_over();
    co_await join();
    co_return co_await placed_round();
  }

  task<rendezvous_change> wait_for_change() override {
    throw_if_in_no_round();
    for (;;) {
      // Whose job succeeded has no more to hear.
      if (!link_->heard().all_finished) {
        if (link_->heard().change) co_return *link_->heard().change;
        throw_if_over();
      }
      co_await link_->news();
    }
  }

  task<rendezvous_change> report_failure(std::string what) override {
    throw_if_in_no_round();
    link_->insist(rendezvous_messages::failed{round_, std::move(what)});
    while (!link_->heard().change) {
      throw_if_over();
      co_await link_->news();
    }
    co_return *link_->heard().change;
  }

  task<void> exit_barrier() override {
    throw_if_in_no_round();
    link_->insist(rendezvous_messages::finished{round_});
    while (!link_->heard().all_finished) {
      throw_if_over();
      co_await link_->news();
    }
  }

  task<int> num_nodes_waiting() override {
    if (!link_) co_return 0;
    co_await ask_status();
    co_return link_->heard().status->waiting;
  }

  task<bool> is_closed() override {
    if (!link_) co_return false;
    if (link_->heard().closed) co_return true;
    co_await ask_status();
    co_return link_->heard().status->is_closed;
  }

  task<void> close(job_end how, std::string why) override {
    if (link_) link_->say(rendezvous_messages::close_job{how, std::move(why)});
    co_return;
  }

  task<void> shutdown() override {
    co_await workers_.stop();
    if (link_) {
      link_->say(rendezvous_messages::leave{});
      co_await link_->stop();
    }
    agents_.reset();
    const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
    if (hosted) co_await hosted->stop();
  }

 private:
  task<void> begin() {
    auto executor = co_await asio::this_coro::executor;
    if (!connector_) co_await reach_endpoint(executor);
    rendezvous_messages::hello greeting;
    greeting.run_id = parameters_.run_id;
    greeting.node = new_node(parameters_.local_address);
    greeting.settings = settings_;
    link_ = std::make_shared<detail::rendezvous_link>(connector_, std::move(greeting),
                                                      parameters_.time, parameters_.log);
    link_->start(executor, settings_.join_timeout);
  }

  // By the network; as its host, where this node is to be.
  task<void> reach_endpoint(asio::any_io_executor executor) {
    host_ = co_await rendezvous_host::try_host(endpoint_, is_host_, parameters_,
                                               rendezvous_protocol::native);
    connector_ = std::make_shared<tcp_message_connector>(
        endpoint_, std::string(rendezvous_service::first_words), limits::rendezvous_message_bytes);
    if (host_) {
      agents_ = std::make_shared<memory_store>(host_->engine());
      strangers_ = std::make_shared<detail::torch_agent_watch>(host_->engine(), run_id(),
                                                               parameters_.log);
      strangers_->begin();
      co_return;
    }
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.log = parameters_.log;
    agents_ = std::make_shared<tcp_store>(executor, options);
  }

  // Until this node is placed in a round after its last one.
  task<void> join() {
    while (!link_->is_connected()) {
      throw_if_over();
      co_await link_->news();
    }
    auto executor = co_await asio::this_coro::executor;
    const std::string address = link_->local_address();
    rendezvous_messages::join wish;
    wish.after = round_;
    wish.timeout = settings_.join_timeout;
    wish.offer = workers_.serve(executor, address, is_loopback(endpoint_.host));
    link_->begin_join(std::move(wish));
    while (!link_->heard().placed) {
      throw_if_over();
      if (link_->heard().refused) throw_refused(*link_->heard().refused);
      co_await link_->news();
    }
    round_ = link_->heard().placed->round;
  }

  task<rendezvous_round> placed_round() {
    const rendezvous_messages::placed& placed = *link_->heard().placed;
    rendezvous_round met;
    met.round = placed.round;
    met.group_rank = placed.rank;
    met.group_world_size = placed.world;
    met.restarts = placed.restarts;
    met.master = placed.master;
    met.agents = std::make_shared<prefix_store>(
        fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, met.round), agents_);
    // Only the node of rank 0 serves the workers.
    if (met.group_rank != 0) co_await workers_.stop();
    co_return met;
  }

  task<void> ask_status() {
    link_->ask_status();
    while (!link_->heard().status) {
      throw_if_over();
      co_await link_->news();
    }
  }

  void throw_if_in_no_round() const {
    if (round_ < 0) throw error(errc::invalid_argument, "this node was in no round yet");
  }

  void throw_if_over() const {
    const auto& heard = link_->heard();
    if (heard.closed) {
      const bool succeeded = heard.closed->end == job_end::succeeded;
      throw error(succeeded ? errc::rendezvous_finished : errc::rendezvous_closed,
                  heard.closed->why);
    }
    if (heard.broken) std::rethrow_exception(heard.broken);
  }

  [[noreturn]] void throw_refused(const rendezvous_messages::refused& refused) const {
    if (!refused.timeout) throw error(errc::invalid_argument, refused.why);
    throw error(errc::rendezvous_timeout,
                fmt::format("{} at {} within {} s (--rdzv-conf join_timeout)", refused.why,
                            to_text(endpoint_),
                            std::chrono::duration<double>(settings_.join_timeout).count()));
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  rendezvous_settings settings_;
  std::optional<bool> is_host_;
  worker_store_host workers_;
  std::unique_ptr<rendezvous_host> host_;
  std::shared_ptr<message_connector> connector_;
  std::shared_ptr<detail::torch_agent_watch> strangers_;
  std::shared_ptr<detail::rendezvous_link> link_;
  std::shared_ptr<store> agents_;
  std::int64_t round_ = -1;
};

}  // namespace elastic

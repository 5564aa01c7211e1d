// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/c10d_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/net/tcp_message_channel.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// With a blank between two, as many as fit.
inline std::string text_of(const std::vector<asio::ip::address>& addresses) {
  std::string text;
  for (const asio::ip::address& address : addresses) {
    const std::string next = address.to_string();
    if (text.size() + 1 + next.size() > limits::node_addresses_bytes) break;
    if (!text.empty()) text += ' ';
    text += next;
  }
  return text;
}

/// The setting `worker_networks`, once it is known that it can be used.
inline std::string worker_networks(const rendezvous_parameters& parameters) {
  const auto setting = parameters.conf.find("worker_networks");
  if (setting == parameters.conf.end()) return {};
  try {
    address_filter().add_list(setting->second, '+');
  } catch (const error& refused) {
    throw error(errc::invalid_argument,
                fmt::format("--rdzv-conf worker_networks: {}", refused.what()));
  }
  if (parameters.secret) return setting->second;
  throw error(errc::invalid_argument,
              "--rdzv-conf worker_networks: only a job with a secret (secret_file) keeps workers "
              "of other networks out");
}

}  // namespace detail

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters)
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
  host_grace_ = parameters_.seconds("host_grace", host_grace_);
  is_host_ = parameters_.yes_or_no("is_host");
  parameters_.secret = parameters_.chosen_secret();
  worker_networks_ = detail::worker_networks(parameters_);
  parameters_.check_conf({"is_host", "listen", "join_timeout", "last_call_timeout", "close_timeout",
                          "heartbeat_timeout", "keep_alive_interval", "keep_alive_max_attempt",
                          "reconnect_grace", "host_grace", "read_timeout", "timeout", "dialect",
                          "secret_file", "worker_networks"});
}

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters,
                                              std::shared_ptr<message_connector> connector,
                                              std::shared_ptr<store> agents, bool is_beside_server)
    : c10d_rendezvous(std::move(parameters)) {
  is_beside_server_ = is_beside_server;
  connector_ = std::move(connector);
  agents_ = std::move(agents);
}

ELASTIC_DECL task<rendezvous_round> c10d_rendezvous::next_round() {
  co_await workers_.stop();
  if (!link_) co_await begin();
  throw_if_over();
  co_await join();
  co_return co_await placed_round();
}

ELASTIC_DECL task<rendezvous_change> c10d_rendezvous::wait_for_change() {
  throw_if_in_no_round();
  for (;;) {
    // Whose job succeeded has no more to hear.
    if (!link_->known().all_finished) {
      if (link_->known().change) co_return *link_->known().change;
      throw_if_over();
    }
    co_await link_->news();
  }
}

ELASTIC_DECL task<rendezvous_change> c10d_rendezvous::report_failure(std::string what) {
  throw_if_in_no_round();
  link_->send_until_superseded(rendezvous_messages::failed{round_, std::move(what)});
  while (!link_->known().change) {
    throw_if_over();
    co_await link_->news();
  }
  co_return *link_->known().change;
}

ELASTIC_DECL task<void> c10d_rendezvous::exit_barrier() {
  throw_if_in_no_round();
  link_->send_until_superseded(rendezvous_messages::finished{round_});
  while (!link_->known().all_finished) {
    throw_if_over();
    co_await link_->news();
  }
}

ELASTIC_DECL task<void> c10d_rendezvous::wait_for_fence() {
  return link_ ? link_->wait_for_fence() : rendezvous_handler::wait_for_fence();
}

ELASTIC_DECL task<int> c10d_rendezvous::num_nodes_waiting() {
  if (!link_) co_return 0;
  co_await ask_status();
  co_return link_->known().status->waiting;
}

ELASTIC_DECL task<void> c10d_rendezvous::close(job_end how, std::string why) {
  if (link_) link_->say(rendezvous_messages::close_job{how, std::move(why)});
  co_return;
}

ELASTIC_DECL task<void> c10d_rendezvous::shutdown() {
  co_await workers_.stop();
  if (link_) {
    if (hosts()) {
      // Nobody can go on without the server; no effect if the job was closed before.
      link_->say(rendezvous_messages::close_job{
          job_end::failed, "the node that hosts the rendezvous has left the job"});
    }
    link_->say(rendezvous_messages::leave{});
    co_await link_->stop();
  }
  agents_.reset();
  const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
  if (hosted) co_await hosted->stop();
}

ELASTIC_DECL task<void> c10d_rendezvous::begin() {
  auto executor = co_await asio::this_coro::executor;
  if (!connector_) co_await reach_endpoint(executor);
  rendezvous_messages::hello greeting;
  greeting.run_id = parameters_.run_id;
  greeting.node = new_node(parameters_.local_addr);
  greeting.node.number = new_node_number();
  greeting.settings = settings_;
  greeting.hosts = hosts();
  link_ = std::make_shared<detail::rendezvous_link>(connector_, std::move(greeting), host_grace_,
                                                    parameters_.time, parameters_.log);
  link_->start(executor, settings_.join_timeout);
}

ELASTIC_DECL task<void> c10d_rendezvous::reach_endpoint(asio::any_io_executor executor) {
  host_ = co_await rendezvous_host::try_host(endpoint_, is_host_, parameters_,
                                             rendezvous_protocol::native);
  connector_ = std::make_shared<tcp_message_connector>(
      endpoint_, std::string(rendezvous_service::first_words), limits::rendezvous_message_bytes,
      parameters_.secret);
  if (host_) {
    agents_ = std::make_shared<memory_store>(host_->engine());
    if (watch_) kept_watch_ = watch_(host_->engine());
    co_return;
  }
  tcp_store_options options;
  options.host = endpoint_.host;
  options.port = endpoint_.port;
  options.secret = parameters_.secret;
  options.log = parameters_.log;
  agents_ = std::make_shared<tcp_store>(executor, options);
}

ELASTIC_DECL task<void> c10d_rendezvous::join() {
  while (!link_->is_connected()) {
    throw_if_over();
    co_await link_->news();
  }
  const std::string address = link_->local_address();
  rendezvous_messages::join wish;
  wish.after = round_;
  wish.timeout = settings_.join_timeout;
  detail::meeting_place meeting{endpoint_.host, host_ != nullptr};
  wish.offer = co_await workers_.serve(address, is_loopback(endpoint_.host), std::move(meeting));
  if (parameters_.secret) wish.addresses = detail::text_of(own_addresses());
  link_->begin_join(std::move(wish));
  while (!link_->known().placed) {
    throw_if_over();
    if (link_->known().refused) throw_refused(*link_->known().refused);
    co_await link_->news();
  }
  round_ = link_->known().placed->round;
}

ELASTIC_DECL task<rendezvous_round> c10d_rendezvous::placed_round() {
  const rendezvous_messages::placed& placed = *link_->known().placed;
  rendezvous_round round;
  round.round = placed.round;
  round.term = placed.term;
  round.group_rank = placed.rank;
  round.group_world_size = placed.world;
  round.restarts = placed.restarts;
  round.master = placed.master;
  round.agents = std::make_shared<prefix_store>(
      fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, round.round), agents_);
  // Only the node of rank 0 serves the workers.
  if (round.group_rank != 0) {
    co_await workers_.stop();
  } else if (parameters_.secret) {
    workers_.admit(admitted_addresses());
  }
  co_return round;
}

ELASTIC_DECL address_filter c10d_rendezvous::admitted_addresses() const {
  address_filter filter = link_->known().peers;
  filter.add_list(worker_networks_, '+');
  return filter;
}

ELASTIC_DECL task<void> c10d_rendezvous::ask_status() {
  link_->ask_status();
  while (!link_->known().status) {
    throw_if_over();
    co_await link_->news();
  }
}

ELASTIC_DECL void c10d_rendezvous::throw_if_in_no_round() const {
  if (round_ < 0) throw error(errc::invalid_argument, "this node was in no round yet");
}

ELASTIC_DECL void c10d_rendezvous::throw_if_over() const {
  const auto& known = link_->known();
  if (known.closed) {
    const bool succeeded = known.closed->end == job_end::succeeded;
    throw error(succeeded ? errc::rendezvous_finished : errc::rendezvous_closed, known.closed->why);
  }
  if (known.broken) throw_broken();
}

ELASTIC_DECL void c10d_rendezvous::throw_broken() const {
  try {
    std::rethrow_exception(link_->known().broken);
  } catch (const error& failure) {
    if (watch_ || failure.code() != errc::protocol_violation) throw;
    throw error(errc::protocol_violation, fmt::format("{}; {}", failure.what(), torch_hint));
  }
}

ELASTIC_DECL void c10d_rendezvous::throw_refused(
    const rendezvous_messages::refused& refused) const {
  if (!refused.timeout) throw error(errc::invalid_argument, refused.why);
  throw error(errc::rendezvous_timeout,
              fmt::format("{} at {} within {} s (--rdzv-conf join_timeout)", refused.why,
                          to_text(endpoint_),
                          std::chrono::duration<double>(settings_.join_timeout).count()));
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/solo_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/length_check.hpp>
#include <elastic/rendezvous/detail/name_wait.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL solo_rendezvous::solo_rendezvous(rendezvous_parameters parameters)
    : parameters_(std::move(parameters)), workers_(parameters_) {
  if (parameters_.run_id.empty()) {
    throw error(errc::invalid_argument, fmt::format("{} must not be empty for the c10d rendezvous",
                                                    parameters_.name_of("run_id")));
  }
  check_length(parameters_.name_of("run_id"), parameters_.run_id, limits::run_id_bytes);
  if (parameters_.max_nodes > 1) {
    throw error(errc::invalid_argument, "a job of one node cannot have more");
  }
  if (parameters_.endpoint.find(',') != std::string::npos) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': a job of one node needs no further endpoints",
                            parameters_.name_of("endpoint"), parameters_.endpoint));
  }
  endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                             c10d_port);
  // A single node waits for nobody, but malformed times and numbers are refused all the same.
  parameters_.settings();
  parameters_.yes_or_no("is_host");
  parameters_.secret = parameters_.chosen_secret();
  parameters_.check_conf(
      meeting_settings({"is_host", "host_grace", "dialect", "secret_file", "worker_networks",
                        "fingerprint"}));
}

ELASTIC_DECL task<rendezvous_round> solo_rendezvous::next_round() {
  check_open();
  auto executor = co_await asio::this_coro::executor;
  if (endpoint_.port != 0 && !server_) {
    co_await wait_for_name(endpoint_.host, parameters_.join_timeout, parameters_);
    tcp_store_server::options options;
    options.address = endpoint_.host;
    options.port = endpoint_.port;
    options.use_ring = parameters_.use_ring;
    options.secret = parameters_.secret;
    options.log = parameters_.log;
    options.meter = parameters_.meter;
    server_ = std::make_unique<tcp_store_server>(executor, options);
  }
  co_await workers_.stop();
  if (!pause_changes_) pause_changes_.emplace(executor);
  while (pause_) co_await pause_changes_->wait();
  rendezvous_round round;
  round.round = ++round_ - 1;
  round.agents = new_shared<prefix_store>(
      fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, round.round),
      new_shared<memory_store>());
  const std::string own_address = own_loopback(executor, endpoint_.host);
  const meeting_place nowhere;
  round.master = co_await workers_.serve(own_address, parameters_.local_addr.empty(), nowhere);
  if (parameters_.secret) {
    address_filter own;
    for (const asio::ip::address& address : own_addresses()) own.add(address);
    workers_.admit(own);
  }
  round.restarts = restarts();
  co_return round;
}

ELASTIC_DECL task<rendezvous_change> solo_rendezvous::wait_for_change() {
  while (!pause_) co_await pause_changes_->wait();
  rendezvous_change change{rendezvous_change::cause::node_waiting, *pause_, restarts()};
  change.is_pause = true;
  change.saves_first = saves_first_;
  co_return change;
}

ELASTIC_DECL void solo_rendezvous::pause(std::string why, bool saves_first) {
  pause_ = std::move(why);
  saves_first_ = saves_first;
  note_pause();
}

ELASTIC_DECL void solo_rendezvous::resume() {
  pause_.reset();
  note_pause();
}

ELASTIC_DECL void solo_rendezvous::note_pause() {
  if (!pause_changes_) return;
  pause_changes_->set();
  pause_changes_->reset();
}

ELASTIC_DECL task<void> solo_rendezvous::exit_barrier() { co_return; }

ELASTIC_DECL task<void> solo_rendezvous::shutdown() {
  co_await workers_.stop();
  if (server_) co_await server_->stop();
  server_.reset();
}

}  // namespace elastic::detail

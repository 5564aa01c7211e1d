// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/solo_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/length_check.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL solo_rendezvous::solo_rendezvous(rendezvous_parameters parameters)
    : parameters_(std::move(parameters)) {
  check_run_id(parameters_);
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

ELASTIC_DECL task<void> solo_rendezvous::prepare() { co_return; }

ELASTIC_DECL task<rendezvous_round::master_endpoint> solo_rendezvous::open_master(
    std::string own_address) {
  rendezvous_round::master_endpoint master;
  master.address = parameters_.local_addr.empty() ? std::move(own_address) : parameters_.local_addr;
  master_port_ = lease_port();
  master.port = master_port_.port();
  master.served_by_agent = false;
  co_return master;
}

ELASTIC_DECL task<rendezvous_round> solo_rendezvous::next_round() {
  check_open();
  auto executor = co_await asio::this_coro::executor;
  co_await prepare();
  if (!pause_changes_) pause_changes_.emplace(executor);
  while (pause_) co_await pause_changes_->wait();
  rendezvous_round round;
  round.round = ++round_ - 1;
  round.agents = new_shared<prefix_store>(
      fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, round.round),
      new_shared<memory_store>());
  round.master = co_await open_master(own_loopback(executor, endpoint_.host));
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
  signal_pause();
}

ELASTIC_DECL void solo_rendezvous::resume() {
  pause_.reset();
  signal_pause();
}

ELASTIC_DECL void solo_rendezvous::signal_pause() {
  if (!pause_changes_) return;
  pause_changes_->set();
  pause_changes_->reset();
}

ELASTIC_DECL task<void> solo_rendezvous::exit_barrier() { co_return; }

ELASTIC_DECL task<void> solo_rendezvous::shutdown() { co_return; }

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/mixed_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/solo_rendezvous.hpp>
#include <elastic/rendezvous/native/detail/c10d_rendezvous.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store_generation.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_agent_watch.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL mixed_rendezvous::mixed_rendezvous(rendezvous_parameters parameters)
    : chosen_rendezvous("c10d", parameters.run_id, nullptr),
      parameters_(std::move(parameters)),
      dialect_(dialect_of(parameters_)) {
  if (dialect_ && parameters_.chosen_secret()) {
    throw error(
        errc::invalid_argument,
        fmt::format("--rdzv-conf secret_file: agents of torchrun hold no secret, so that it "
                    "cannot be used with dialect={}",
                    to_text(*dialect_)));
  }
  if (dialect_) parameters_.refuse_choice_of_nodes("a job with a dialect");
  auto native = std::make_shared<c10d_rendezvous>(parameters_);
  native->meet_beside_torch([run_id = parameters_.run_id,
                             log = parameters_.log](std::shared_ptr<key_value_engine> table) {
    auto watch = std::make_shared<torch_agent_watch>(std::move(table), run_id, log);
    watch->begin();
    return watch;
  });
  chosen_ = std::move(native);
  endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                             rendezvous_host::default_port);
}

ELASTIC_DECL task<rendezvous_round> mixed_rendezvous::next_round() {
  rendezvous_round round = co_await chosen_rendezvous::next_round();
  if (host_) host_->forget_rounds(parameters_.run_id, round.round - 1);
  co_return round;
}

ELASTIC_DECL task<rendezvous_round> mixed_rendezvous::first_round() {
  if (!meets_as_torch_ && dialect_) co_await choose_torch();
  if (meets_as_torch_) co_return co_await chosen_->next_round();
  try {
    co_return co_await chosen_->next_round();
  } catch (const error& failure) {
    if (failure.code() != errc::not_supported) throw;
    parameters_.log.debug("meeting in torchrun's way: {}", failure.what());
  }
  co_await chosen_->shutdown();
  co_await choose_torch();
  co_return co_await chosen_->next_round();
}

ELASTIC_DECL task<void> mixed_rendezvous::close(job_end how, std::string why) {
  end_ = how;
  return chosen_->close(how, std::move(why));
}

ELASTIC_DECL task<void> mixed_rendezvous::shutdown() {
  if (host_ && !end_) co_await close_before_leaving();
  co_await chosen_->shutdown();
  if (!host_) co_return;
  co_await see_off();
  const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
  co_await hosted->stop();
}

ELASTIC_DECL task<void> mixed_rendezvous::close_before_leaving() {
  try {
    co_await close(job_end::failed, "the node that hosts the rendezvous has left the job");
  } catch (const error& failure) {
    parameters_.log.debug("could not close the rendezvous: {}", failure.what());
  }
}

ELASTIC_DECL std::optional<torch_dialect> mixed_rendezvous::dialect_of(
    const rendezvous_parameters& parameters) {
  const auto setting = parameters.conf.find("dialect");
  if (setting == parameters.conf.end() || setting->second == "auto") return std::nullopt;
  try {
    return parse_torch_dialect(setting->second);
  } catch (const error&) {
    throw error(
        errc::invalid_argument,
        fmt::format("--rdzv-conf dialect={}: auto, 1.13, 2.0 or 2.6 is needed", setting->second));
  }
}

ELASTIC_DECL task<void> mixed_rendezvous::choose_torch() {
  parameters_.refuse_choice_of_nodes("torchrun, which serves the rendezvous here,");
  dynamic_rendezvous_options options;
  options.parameters = parameters_;
  options.node = new_node(parameters_.shown_host());
  options.address = co_await own_address();
  std::shared_ptr<key_value_engine> engine;
  if (dialect_) {
    host_ = co_await rendezvous_host::try_host(endpoint_, parameters_.yes_or_no("is_host"),
                                               parameters_, rendezvous_protocol::torch);
  }
  if (host_) {
    engine = host_->engine();
    options.agents = std::make_shared<memory_store>(engine);
    options.dialect = *dialect_;
  } else {
    const std::shared_ptr<tcp_store> client = co_await connect();
    options.agents = client;
    options.dialect = dialect_ ? *dialect_ : co_await detect_dialect(client);
  }
  options.backend = std::make_shared<store_rendezvous_backend>(
      options.agents, parameters_.run_id, options.dialect, parameters_.time, engine);
  parameters_.log.info("{} the store at {}, meeting as agents of PyTorch {} do",
                       host_ ? "serving" : "using", to_text(endpoint_), to_text(options.dialect));
  chosen_ = std::make_shared<dynamic_rendezvous>(std::move(options));
  meets_as_torch_ = true;
}

ELASTIC_DECL task<std::string> mixed_rendezvous::own_address() {
  const auto addresses = co_await resolve_addresses(endpoint_.host);
  auto executor = co_await asio::this_coro::executor;
  for (const auto& address : addresses) {
    const asio::ip::address own = address_towards(executor, address);
    if (!own.is_unspecified()) co_return own.to_string();
  }
  co_return std::string("127.0.0.1");
}

ELASTIC_DECL task<std::shared_ptr<tcp_store>> mixed_rendezvous::connect() {
  tcp_store_options options;
  options.host = endpoint_.host;
  options.port = endpoint_.port;
  options.generation = tcp_store_generation::probe;
  options.log = parameters_.log;
  options.time = parameters_.time;
  auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  time_source& time = *parameters_.time;
  const duration patience = dialect_ ? parameters_.settings().join_timeout : second_try;
  const bool is_there = co_await with_deadline(time, time.now() + patience, client->connect());
  if (!is_there) {
    throw error(
        errc::rendezvous_timeout,
        fmt::format("no store answered at {} within {} s: {}", to_text(endpoint_),
                    std::chrono::duration<double>(patience).count(), client->last_problem()));
  }
  std::vector<std::string> keys(1, std::string(rendezvous_host::native_key));
  const bool is_native = co_await client->check(std::move(keys));
  if (!is_native) co_return client;
  if (!dialect_) {
    throw error(errc::connection_failed, fmt::format("the store of torchrun at {} has gone, and "
                                                     "nodes of elasticrun meet there now",
                                                     to_text(endpoint_)));
  }
  throw error(errc::invalid_argument,
              fmt::format("the nodes at {} meet in elasticrun's own way: for a mixed job start "
                          "every node of elasticrun with --rdzv-conf dialect={}",
                          to_text(endpoint_), to_text(*dialect_)));
}

ELASTIC_DECL task<torch_dialect> mixed_rendezvous::detect_dialect(
    std::shared_ptr<tcp_store> client) {
  time_source& time = *parameters_.time;
  const time_point limit = time.now() + first_state;
  while (time.now() < limit) {
    const std::optional<torch_dialect> written =
        co_await store_rendezvous_backend::seen_dialect(client, parameters_.run_id);
    if (written) co_return *written;
    co_await time.sleep_until(time.now() + first_state_pause);
  }
  co_return client->generation() == tcp_store_generation::torch_2_2 ? torch_dialect::torch_2_6
                                                                    : torch_dialect::torch_1_13;
}

ELASTIC_DECL task<void> mixed_rendezvous::see_off() {
  time_source& time = *parameters_.time;
  const time_point limit = time.now() + (end_ == job_end::succeeded ? farewell : short_farewell);
  while (host_->connections() > 0 && time.now() < limit) {
    co_await time.sleep_until(time.now() + farewell_pause);
  }
}

}  // namespace elastic::detail

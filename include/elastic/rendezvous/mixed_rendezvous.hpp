// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/c10d_rendezvous.hpp>
#include <elastic/rendezvous/dynamic_rendezvous.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/store_rendezvous_backend.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous named "c10d", for jobs in which nodes of torchrun may take part: chooses between
/// elasticrun's own way to meet (`c10d_rendezvous`) and torchrun's (`dynamic_rendezvous`).
///
/// `--rdzv-conf dialect=1.13`, `2.0` or `2.6` names torchrun's way, and the release of PyTorch
/// whose agents take part. Without it, or with `auto`, nodes meet in elasticrun's own way, unless
/// the store turns out to be served by torchrun, or by a node of elasticrun with a `dialect`; then
/// the dialect is that of the state, or that of the store's generation where there is no state.
///
/// Thread-safety: one strand at a time.
class mixed_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: those of `c10d_rendezvous`, and for a `dialect` that there is not.
  explicit mixed_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)),
        dialect_(dialect_of(parameters_)),
        chosen_(std::make_shared<c10d_rendezvous>(parameters_)) {
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (!has_chosen_ && dialect_) co_await choose_torch("");
    if (has_chosen_) co_return co_await chosen_->next_round();
    std::string refusal;
    try {
      rendezvous_round met = co_await chosen_->next_round();
      has_chosen_ = true;
      co_return met;
    } catch (const error& failure) {
      // Whoever serves there does not know what only elasticrun says.
      if (failure.code() != errc::protocol_violation) throw;
      refusal = failure.what();
    }
    parameters_.log.debug("trying to meet in torchrun's way: {}", refusal);
    co_await chosen_->shutdown();
    co_await choose_torch(refusal);
    co_return co_await chosen_->next_round();
  }

  task<rendezvous_change> wait_for_change() override { return chosen_->wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return chosen_->report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return chosen_->exit_barrier(); }
  task<int> num_nodes_waiting() override { return chosen_->num_nodes_waiting(); }
  task<bool> is_closed() override { return chosen_->is_closed(); }

  task<void> close(job_end how, std::string why) override {
    has_succeeded_ = how == job_end::succeeded;
    return chosen_->close(how, std::move(why));
  }

  task<void> shutdown() override {
    co_await chosen_->shutdown();
    if (!host_) co_return;
    if (has_succeeded_) co_await see_off();
    const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
    co_await hosted->stop();
  }

 private:
  /// How long the node that serves the store stays for the others, after success.
  static constexpr std::chrono::seconds farewell{10};
  static constexpr std::chrono::milliseconds farewell_pause{20};
  /// How long a server that was there a moment ago, and does not know elasticrun, has to answer as
  /// a store.
  static constexpr std::chrono::seconds second_try{5};
  /// How long the node that serves the store has to write the first state.
  static constexpr std::chrono::seconds first_state{3};
  static constexpr std::chrono::milliseconds first_state_pause{100};

  static std::optional<torch_dialect> dialect_of(const rendezvous_parameters& parameters) {
    const auto found = parameters.configuration.find("dialect");
    if (found == parameters.configuration.end() || found->second == "auto") return std::nullopt;
    try {
      return parse_torch_dialect(found->second);
    } catch (const error&) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-conf dialect={}: auto, 1.13, 2.0 or 2.6 is needed",
                              found->second));
    }
  }

  // `refusal`: what the server at the endpoint said to a node that meets in elasticrun's own way;
  // empty where none was sent.
  task<void> choose_torch(std::string refusal) {
    dynamic_rendezvous_options options;
    options.parameters = parameters_;
    options.node = new_node(parameters_.local_address);
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
      const std::shared_ptr<tcp_store> client = co_await connect(refusal);
      options.agents = client;
      options.dialect = dialect_ ? *dialect_ : co_await detect_dialect(client);
    }
    options.backend = std::make_shared<store_rendezvous_backend>(
        options.agents, parameters_.run_id, options.dialect, parameters_.time, engine);
    parameters_.log.info("{} the store at {}, meeting as agents of PyTorch {} do",
                         host_ ? "serving" : "using", to_text(endpoint_),
                         to_text(options.dialect));
    chosen_ = std::make_shared<dynamic_rendezvous>(std::move(options));
    has_chosen_ = true;
  }

  // A numeric address by which the others reach this node: that on the way to the store.
  task<std::string> own_address() {
    const auto found = co_await detail::resolve_addresses(endpoint_.host, nullptr);
    auto executor = co_await asio::this_coro::executor;
    for (const auto& address : found) {
      const asio::ip::address own = address_towards(executor, address);
      if (!own.is_unspecified()) co_return own.to_string();
    }
    co_return std::string("127.0.0.1");
  }

  task<std::shared_ptr<tcp_store>> connect(std::string refusal) {
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.generation = tcp_store_generation::probe;
    options.log = parameters_.log;
    options.time = parameters_.time;
    auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
    time_source& time = *parameters_.time;
    const duration patience = refusal.empty() ? parameters_.settings().join_timeout : second_try;
    const bool is_there = co_await with_deadline(time, time.now() + patience, client->connect());
    if (!is_there && !refusal.empty()) throw error(errc::protocol_violation, refusal);
    if (!is_there) {
      throw error(errc::rendezvous_timeout,
                  fmt::format("no store answered at {} within {} s: {}", to_text(endpoint_),
                              std::chrono::duration<double>(patience).count(),
                              client->last_problem()));
    }
    std::vector<std::string> keys(1, std::string(rendezvous_host::native_key));
    const bool is_native = co_await client->check(std::move(keys));
    if (!is_native) co_return client;
    if (!refusal.empty()) throw error(errc::protocol_violation, refusal);
    throw error(errc::invalid_argument,
                fmt::format("the nodes at {} meet in elasticrun's own way: for a mixed job start "
                            "every node of elasticrun with --rdzv-conf dialect={}",
                            to_text(endpoint_), to_text(*dialect_)));
  }

  // That of the state; of the server's generation, where nobody has written one.
  task<torch_dialect> detect_dialect(std::shared_ptr<tcp_store> client) {
    time_source& time = *parameters_.time;
    const time_point limit = time.now() + first_state;
    while (time.now() < limit) {
      const std::optional<torch_dialect> seen =
          co_await store_rendezvous_backend::seen_dialect(client, parameters_.run_id);
      if (seen) co_return *seen;
      co_await time.sleep_until(time.now() + first_state_pause);
    }
    co_return client->generation() == tcp_store_generation::torch_2_2 ? torch_dialect::torch_2_6
                                                                      : torch_dialect::torch_1_13;
  }

  // PyTorch's agents look at the state once more before they end.
  task<void> see_off() {
    time_source& time = *parameters_.time;
    const time_point limit = time.now() + farewell;
    while (host_->connections() > 0 && time.now() < limit) {
      co_await time.sleep_until(time.now() + farewell_pause);
    }
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  std::optional<torch_dialect> dialect_;
  std::shared_ptr<rendezvous_handler> chosen_;
  bool has_chosen_ = false;
  std::unique_ptr<rendezvous_host> host_;
  bool has_succeeded_ = false;
};

}  // namespace elastic

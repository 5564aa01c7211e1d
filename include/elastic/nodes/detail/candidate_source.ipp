// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate_source.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/endpoint_list.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate_addresses.hpp>
#include <elastic/nodes/detail/network_identity.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/store/memory_store.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// After this time, names that are still unknown are not compared.
inline constexpr std::chrono::seconds look_up_patience{2};

inline task<void> look_up(std::shared_ptr<candidate_addresses> addresses) {
  for (std::size_t place = 0; place < addresses->list.size(); ++place) {
    addresses->known[place] = co_await resolve_addresses(addresses->list[place].host);
  }
}

ELASTIC_DECL candidate_source::candidate_source(rendezvous_parameters parameters)
    : parameters_(std::move(parameters)), settings_(parameters_.settings()) {
  check_run_id(parameters_);
  parameters_.secret = parameters_.chosen_secret();
  endpoints_ = parse_endpoints(parameters_.endpoint, c10d_port, limits::rendezvous_candidates);
  for (const endpoint& address : endpoints_) {
    check_port(address, parameters_);
    list_ += (list_.empty() ? "" : ",") + to_text(address);
  }
  parameters_.check_conf(meeting_settings({"is_host", "host_grace", "dialect", "secret_file",
                                           "worker_networks", "candidate", "fast_takeover",
                                           "fingerprint"}));
  check();
}

ELASTIC_DECL candidate_source::candidate_source(rendezvous_parameters parameters,
                                                std::vector<server_access> servers,
                                                std::shared_ptr<candidate> own)
    : candidate_source(std::move(parameters)) {
  has_servers_ = true;
  servers_ = std::move(servers);
  candidate_ = std::move(own);
}

ELASTIC_DECL std::shared_ptr<c10d_rendezvous> make_candidate_rendezvous(
    rendezvous_parameters parameters) {
  const auto leaders = new_shared<candidate_source>(parameters);
  return new_shared<c10d_rendezvous>(std::move(parameters), leaders);
}

ELASTIC_DECL void candidate_source::check() const {
  const auto refuse = [this](const std::string& why) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': {}", parameters_.name_of("endpoint"), parameters_.endpoint,
                            why));
  };
  if (parameters_.yes_or_no("is_host").has_value()) {
    refuse(fmt::format("with several endpoints {} says which of them this agent serves, not {}",
                       parameters_.name_of("candidate"), parameters_.name_of("is_host")));
  }
  const auto dialect = parameters_.conf.find("dialect");
  if (dialect != parameters_.conf.end() && dialect->second != "auto") {
    refuse("agents of torchrun know one endpoint only, so dialect cannot be used with several");
  }
  if (settings_.reconnect_grace < std::chrono::milliseconds(300)) {
    refuse(fmt::format("several endpoints need at least 0.3 s of {}",
                       parameters_.name_of("reconnect_grace")));
  }
  if (settings_.reconnect_grace * 2 > settings_.silence()) {
    refuse(fmt::format(
        "several endpoints need a {} of at most half of keep_alive_interval times "
        "keep_alive_max_attempt",
        parameters_.name_of("reconnect_grace")));
  }
  if (settings_.max_nodes > limits::rendezvous_register_nodes) {
    refuse(fmt::format("several endpoints serve up to {} nodes ({})",
                       limits::rendezvous_register_nodes, parameters_.name_of("max_nodes")));
  }
  parameters_.yes_or_no("fast_takeover");
  const auto chosen = parameters_.conf.find("candidate");
  if (chosen != parameters_.conf.end() && chosen->second != "none" &&
      parameters_.whole_number("candidate", 0, 0) >= static_cast<int>(endpoints_.size())) {
    refuse(fmt::format("{}={} is out of range: 0 to {}, or none", parameters_.name_of("candidate"),
                       chosen->second, endpoints_.size() - 1));
  }
  if (settings_.join_timeout < 2 * settings_.silence()) {
    parameters_.log.warning(
        "{}: with one of the endpoints missing a job begins after {:g} s, which is longer",
        parameters_.name_of("join_timeout"),
        std::chrono::duration<double>(2 * settings_.silence()).count());
  }
  if (endpoints_.size() == 2) {
    parameters_.log.warning(
        "{} '{}': of two endpoints none may be lost, since a majority is needed: give three",
        parameters_.name_of("endpoint"), parameters_.endpoint);
  }
}

ELASTIC_DECL std::uint64_t candidate_source::number_of(std::uint64_t offered) const {
  return candidate_ ? candidate_->node() : offered;
}

ELASTIC_DECL task<std::shared_ptr<message_connector>> candidate_source::open(
    std::uint64_t number) {
  number_ = number;
  if (!has_servers_) {
    co_await check_addresses();
    auto executor = co_await asio::this_coro::executor;
    // An earlier attempt may have been interrupted.
    servers_.clear();
    for (const endpoint& address : endpoints_) {
      servers_.push_back({make_rendezvous_connector(address, parameters_),
                          make_agents_store(executor, address, parameters_)});
    }
    co_await serve_endpoint();
  }
  leader_ = make_connector();
  co_return leader_;
}

ELASTIC_DECL task<void> candidate_source::check_addresses() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto addresses = new_shared<candidate_addresses>();
  addresses->list = endpoints_;
  addresses->known.resize(endpoints_.size());
  const time_point limit = parameters_.time->now() + look_up_patience;
  co_await with_deadline(*parameters_.time, limit, look_up(addresses));
  std::string why = objection_to(*addresses);
  if (!why.empty()) {
    why = fmt::format("{} '{}': {}", parameters_.name_of("endpoint"), parameters_.endpoint, why);
  }
  const std::function<bool(const asio::ip::address&)> is_own =
      [&executor](const asio::ip::address& address) { return is_local_address(executor, address); };
  if (why.empty()) {
    why = objection_to_local_addr(*addresses, parameters_.local_addr, chosen_place(), is_own);
    if (!why.empty()) why = fmt::format("{} {}", parameters_.name_of("local_addr"), why);
  }
  if (!why.empty()) throw error(errc::invalid_argument, why);
  if (parameters_.conf.count("candidate") != 0) co_return;
  may_serve_ = std::any_of(
      addresses->known.begin(), addresses->known.end(), [&](const auto& known) {
        return std::any_of(known.begin(), known.end(), is_own);
      });
}

ELASTIC_DECL int candidate_source::chosen_place() const {
  const auto setting = parameters_.conf.find("candidate");
  if (setting == parameters_.conf.end() || setting->second == "none") return -1;
  return parameters_.whole_number("candidate", 0, 0);
}

ELASTIC_DECL task<void> candidate_source::serve_endpoint() {
  next_try_ = parameters_.time->now() + settings_.keep_alive_interval;
  const bool is_chosen = parameters_.conf.count("candidate") != 0;
  const int chosen = chosen_place();
  const std::optional<bool> decided = is_chosen ? std::optional(true) : std::nullopt;
  for (int place = 0; place < static_cast<int>(endpoints_.size()) && !host_; ++place) {
    if (is_chosen && place != chosen) continue;
    const endpoint& address = endpoints_[static_cast<std::size_t>(place)];
    const auto candidate = make_candidate(place);
    host_ = co_await rendezvous_host::try_host(address, decided, parameters_,
                                               rendezvous_protocol::native, candidate);
    if (host_) candidate_ = candidate;
  }
  if (!host_) co_return;
  may_serve_ = false;
  servers_[static_cast<std::size_t>(candidate_->place())].agents =
      internals::make<memory_store>(host_->engine());
}

ELASTIC_DECL std::shared_ptr<candidate> candidate_source::make_candidate(int place) const {
  candidate::options options;
  options.run_id = parameters_.run_id;
  options.list = list_;
  options.self = place;
  for (const endpoint& address : endpoints_) {
    options.others.push_back(
        make_rendezvous_connector(address, parameters_, limits::rendezvous_register_bytes));
  }
  options.others[static_cast<std::size_t>(place)] = nullptr;
  options.settings = settings_;
  options.node = number_;
  options.network = network_identity();
  options.marker.emplace(parameters_.run_id, list_, place);
  options.fast_takeover = parameters_.yes_or_no("fast_takeover").value_or(true);
  options.seed = number_;
  options.reports = internals::of(parameters_).reports;
  options.time = parameters_.time;
  options.log = parameters_.log;
  return new_shared<candidate>(std::move(options));
}

ELASTIC_DECL std::shared_ptr<leader_connector> candidate_source::make_connector() const {
  leader_connector::options options;
  for (const server_access& server : servers_) options.candidates.push_back(server.connector);
  options.run_id = parameters_.run_id;
  options.list = list_;
  if (candidate_) {
    options.self = candidate_->place();
    options.node = candidate_->node();
  }
  options.interval = settings_.keep_alive_interval;
  options.time = parameters_.time;
  options.log = parameters_.log;
  return new_shared<leader_connector>(std::move(options));
}

ELASTIC_DECL task<void> candidate_source::news() {
  if (!may_serve_ || link_->known().all_finished) {
    co_await link_->news();
    co_return;
  }
  co_await with_deadline(*parameters_.time, next_try_, link_->news());
  if (parameters_.time->now() < next_try_) co_return;
  try {
    co_await serve_endpoint();
  } catch (const error& failure) {
    parameters_.log.debug("no endpoint can be served: {}", failure.what());
  }
  if (!candidate_) co_return;
  leader_->set_own_candidate(candidate_->place(), candidate_->node());
  parameters_.log.info("the port of {} is free now: this node serves there",
                       to_text(endpoints_[static_cast<std::size_t>(candidate_->place())]));
}

ELASTIC_DECL meeting_place candidate_source::server() const {
  const endpoint& address = endpoints_[static_cast<std::size_t>(leader_->leader())];
  return {address.host, leader_->reaches_own_process()};
}

ELASTIC_DECL bool candidate_source::is_at_loopback() const {
  return std::all_of(endpoints_.begin(), endpoints_.end(),
                     [](const endpoint& each) { return is_loopback(each.host); });
}

ELASTIC_DECL task<std::shared_ptr<store>> candidate_source::agents() {
  co_return servers_[static_cast<std::size_t>(leader_->leader())].agents;
}

ELASTIC_DECL void candidate_source::forget_rounds(const std::string& run_id,
                                                  std::int64_t first_kept) {
  if (host_) host_->forget_rounds(run_id, first_kept);
}

ELASTIC_DECL task<void> candidate_source::retire(bool is_job_over) {
  if (candidate_) co_await candidate_->retire(is_job_over);
  servers_.clear();
  const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
  if (hosted) co_await hosted->stop();
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/c10d_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/candidate_addresses.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/nodes/detail/network_identity.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/length_check.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <algorithm>
#include <exception>

#include <fmt/format.h>

namespace elastic::detail {

/// The addresses, separated by spaces, as many as fit.
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

/// How long a node tries to report the end of the job to a server that it cannot reach: within a
/// second of a loss, another leader takes over, or a broken connection is restored.
inline constexpr std::chrono::seconds end_patience{3};

/// How long a server with a secret may close connections: it does so while it has too many
/// handshakes.
inline constexpr std::chrono::seconds handshake_patience{5};

/// How long a server may take to show that it is a store, and how long for each of its answers.
inline constexpr std::chrono::milliseconds examination_patience{2000};
inline constexpr std::chrono::milliseconds examination_silence{400};

/// Asks the server of an endpoint whether it is a store.
/// Errors: `errc::not_supported` for a store at which agents of torchrun meet.
inline task<void> examine_server(endpoint address, logger log, std::shared_ptr<time_source> time) {
  tcp_store::options options;
  options.host = address.host;
  options.port = address.port;
  options.generation = tcp_store_generation::probe;
  options.probe_silence = examination_silence;
  options.log = log;
  options.time = time;
  tcp_store client(co_await asio::this_coro::executor, options);
  std::vector<std::string> keys(1, std::string(rendezvous_host::native_key));
  std::optional<bool> is_native;
  try {
    const time_point limit = time->now() + examination_patience;
    is_native = co_await with_deadline(*time, limit, client.check(std::move(keys)));
  } catch (const error& failure) {
    log.debug("the server at {} is not a store: {}", to_text(address), failure.what());
  }
  if (is_native != false) co_return;
  throw error(errc::not_supported,
              fmt::format("the store at {} is one of agents of torchrun", to_text(address)));
}

/// After this time, names that are still unknown are not compared.
inline constexpr std::chrono::seconds look_up_patience{2};

inline task<void> look_up(std::shared_ptr<candidate_addresses> addresses) {
  for (std::size_t place = 0; place < addresses->list.size(); ++place) {
    addresses->known[place] = co_await resolve_addresses(addresses->list[place].host);
  }
}

/// The setting `worker_networks`, after a check that it is usable.
inline std::string worker_networks(const rendezvous_parameters& parameters) {
  const auto setting = parameters.conf.find("worker_networks");
  if (setting == parameters.conf.end()) return {};
  try {
    address_filter().add_list(setting->second, '+');
  } catch (const error& refused) {
    throw error(errc::invalid_argument,
                fmt::format("{}: {}", parameters.name_of("worker_networks"), refused.what()));
  }
  if (parameters.secret) return setting->second;
  throw error(errc::invalid_argument,
              fmt::format("{}: only a job with a secret (secret_file) keeps workers of other "
                          "networks out",
                          parameters.name_of("worker_networks")));
}

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters)
    : parameters_(std::move(parameters)), workers_(parameters_) {
  if (parameters_.run_id.empty()) {
    throw error(errc::invalid_argument, fmt::format("{} must not be empty for the c10d rendezvous",
                                                    parameters_.name_of("run_id")));
  }
  take_settings();
  endpoints_ = parse_endpoints(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               c10d_port, limits::rendezvous_candidates);
  endpoint_ = endpoints_.front();
  for (const endpoint& address : endpoints_) {
    if (address.port == 0) {
      throw error(errc::invalid_argument,
                  fmt::format("{} '{}': several nodes need a port that they all know",
                              parameters_.name_of("endpoint"), parameters_.endpoint));
    }
    list_ += (list_.empty() ? "" : ",") + to_text(address);
  }
  host_grace_ = parameters_.seconds("host_grace", host_grace_);
  is_host_ = parameters_.yes_or_no("is_host");
  parameters_.check_conf(meeting_settings({"is_host", "host_grace", "dialect", "secret_file",
                                           "worker_networks", "candidate", "fast_takeover",
                                           "fingerprint"}));
  for (const char* name : {"candidate", "fast_takeover"}) {
    if (!has_candidates() && parameters_.conf.count(name) != 0) {
      throw error(
          errc::invalid_argument,
          fmt::format("{}: it is for several endpoints ({})", parameters_.name_of(name),
                      parameters_.name_of("endpoint")));
    }
  }
  if (!has_candidates()) return;
  check_candidates();
  if (parameters_.conf.count("host_grace") == 0) host_grace_ = settings_.join_timeout;
}

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters,
                                              std::shared_ptr<message_connector> connector,
                                              std::shared_ptr<store> agents, bool is_beside_server)
    : c10d_rendezvous(std::move(parameters)) {
  is_beside_server_ = is_beside_server;
  connector_ = std::move(connector);
  agents_ = std::move(agents);
}

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters,
                                              std::vector<candidate_server> servers,
                                              std::shared_ptr<candidate> own)
    : c10d_rendezvous(std::move(parameters)) {
  servers_ = std::move(servers);
  candidate_ = std::move(own);
  look_for_leader();
}

ELASTIC_DECL c10d_rendezvous::c10d_rendezvous(rendezvous_parameters parameters,
                                              std::string where, registry_maker make)
    : parameters_(std::move(parameters)),
      list_(std::move(where)),
      workers_(parameters_),
      make_registry_(std::move(make)) {
  take_settings();
  host_grace_ = parameters_.seconds("host_grace", settings_.join_timeout);
}

ELASTIC_DECL void c10d_rendezvous::take_settings() {
  check_length(parameters_.name_of("run_id"), parameters_.run_id, limits::run_id_bytes);
  check_length(parameters_.name_of("local_addr"), parameters_.local_addr, limits::host_name_bytes);
  settings_ = parameters_.settings();
  parameters_.secret = parameters_.chosen_secret();
  worker_networks_ = worker_networks(parameters_);
}

ELASTIC_DECL task<void> c10d_rendezvous::meet() { met_ = co_await next_round(); }

ELASTIC_DECL task<rendezvous_round> c10d_rendezvous::next_round() {
  if (met_) co_return *std::exchange(met_, std::nullopt);
  co_await workers_.stop();
  if (!link_) co_await begin();
  throw_if_over();
  link_->note_no_workers();
  co_await join();
  co_return co_await placed_round();
}

ELASTIC_DECL task<rendezvous_change> c10d_rendezvous::wait_for_change() {
  throw_if_in_no_round();
  for (;;) {
    // After the success of the job there is no further change.
    if (!link_->known().all_finished) {
      if (link_->known().change) co_return *link_->known().change;
      throw_if_over();
    }
    co_await news();
  }
}

ELASTIC_DECL task<rendezvous_change> c10d_rendezvous::report_failure(std::string reason) {
  throw_if_in_no_round();
  link_->send_until_superseded(rendezvous_messages::failed{round_, std::move(reason)});
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

ELASTIC_DECL void c10d_rendezvous::pause(std::string why, bool saves_first) {
  if (!link_ || !link_->is_connected()) {
    throw error(errc::invalid_argument, "this node has no connection to the rendezvous now");
  }
  std::string text = short_line(why, limits::pause_text_bytes);
  link_->hold(rendezvous_messages::pause{std::move(text), saves_first});
}

ELASTIC_DECL void c10d_rendezvous::resume() {
  if (link_) link_->hold(std::nullopt);
}

ELASTIC_DECL task<void> c10d_rendezvous::close(rendezvous_handler::job_end how, std::string why) {
  is_closing_ = true;
  if (!link_) co_return;
  link_->send_until_superseded(rendezvous_messages::close_job{how, std::move(why)});
  time_source& time = *parameters_.time;
  const time_point limit = time.now() + end_patience;
  // Every node of the round knows of a success, so only a connected server is worth a wait.
  const auto is_to_wait = [this] {
    const auto& knowledge = link_->known();
    return !knowledge.closed && !knowledge.broken &&
           (link_->is_connected() || !knowledge.all_finished);
  };
  while (is_to_wait() && time.now() < limit) {
    co_await with_deadline(time, limit, link_->news());
  }
}

ELASTIC_DECL task<void> c10d_rendezvous::shutdown() {
  co_await workers_.stop();
  if (link_) {
    if (hosts()) {
      // The others cannot continue without the server. No effect if the job was closed before.
      link_->send(
          rendezvous_messages::close_job{rendezvous_handler::job_end::failed,
                                         "the node that hosts the rendezvous has left the job"});
    }
    rendezvous_messages::leave word;
    if (!bad_because_.empty()) word = {parameters_.exclude_for, bad_because_};
    link_->send(word);
    co_await link_->stop();
  }
  if (candidate_ || registry_) co_await retire();
  agents_.reset();
  servers_.clear();
  const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
  if (hosted) co_await hosted->stop();
}

ELASTIC_DECL task<void> c10d_rendezvous::begin() {
  auto executor = co_await asio::this_coro::executor;
  rendezvous_messages::hello greeting;
  greeting.run_id = parameters_.run_id;
  if (parameters_.identity) {
    greeting.node = *parameters_.identity;
  } else {
    greeting.node = new_node(parameters_.shown_host());
    greeting.node.number = new_node_number();
  }
  if (candidate_) greeting.node.number.high = candidate_->node();
  number_ = greeting.node.number.high;
  const bool is_told_servers = connector_ != nullptr;
  if (make_registry_) {
    registry_ = co_await make_registry_();
    connector_ = registry_;
  }
  if (!connector_ && has_candidates()) co_await reach_candidates();
  if (!connector_) co_await reach_endpoint(executor);
  greeting.settings = settings_;
  greeting.name =
      as_node_name(parameters_.node_name.empty() ? host_name() : parameters_.node_name);
  const auto fingerprint = parameters_.conf.find("fingerprint");
  if (fingerprint != parameters_.conf.end()) greeting.fingerprint = fingerprint->second;
  check_length(parameters_.name_of("fingerprint"), greeting.fingerprint,
               greeting.most_fingerprint);
  greeting.hosts = hosts();
  link_ = new_shared<rendezvous_link>(connector_, std::move(greeting), host_grace_,
                                      parameters_.time, parameters_.log, parameters_.reports);
  if (registry_) attach_to_registry();
  const bool may_be_torch =
      !is_told_servers && !registry_ && !host_ && !has_candidates() && !parameters_.secret;
  if (may_be_torch) {
    link_->examine_by([at = endpoint_, log = parameters_.log, time = parameters_.time] {
      return examine_server(at, log, time);
    });
  }
  if (parameters_.secret) link_->set_hang_up_patience(handshake_patience);
  const duration patience =
      was_reached_ ? limits::rendezvous_reconnect_timeout : settings_.join_timeout;
  link_->start(executor, patience);
}

ELASTIC_DECL task<void> c10d_rendezvous::reach_endpoint(asio::any_io_executor executor) {
  connector_ = make_rendezvous_connector(endpoint_, parameters_);
  const bool hosts_it = co_await host_endpoint();
  if (hosts_it) co_return;
  agents_ = make_agents_store(executor, endpoint_, parameters_);
  if (!is_host_) may_host_.reset();
}

ELASTIC_DECL task<bool> c10d_rendezvous::host_endpoint() {
  host_ = co_await rendezvous_host::try_host(endpoint_, is_host_, parameters_,
                                             rendezvous_protocol::native);
  if (!host_) co_return false;
  agents_ = new_shared<memory_store>(host_->engine());
  if (watch_) kept_watch_ = watch_(host_->engine());
  may_host_ = false;
  co_return true;
}

ELASTIC_DECL task<void> c10d_rendezvous::host_abandoned_endpoint() {
  if (!may_host_) {
    const bool is_ours = co_await rendezvous_host::is_of_this_host(endpoint_);
    may_host_ = is_ours;
  }
  if (!*may_host_ || leader_ || link_->was_connected()) co_return;
  const bool hosts_it = co_await host_endpoint();
  if (hosts_it) link_->note_own_server();
}

ELASTIC_DECL void c10d_rendezvous::check_candidates() const {
  const auto refuse = [this](const std::string& why) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': {}", parameters_.name_of("endpoint"), parameters_.endpoint,
                            why));
  };
  if (is_host_) {
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

ELASTIC_DECL std::shared_ptr<candidate> c10d_rendezvous::make_candidate(int place) const {
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
  options.reports = parameters_.reports;
  options.time = parameters_.time;
  options.log = parameters_.log;
  return new_shared<candidate>(std::move(options));
}

ELASTIC_DECL int c10d_rendezvous::chosen_candidate() const {
  const auto setting = parameters_.conf.find("candidate");
  if (setting == parameters_.conf.end() || setting->second == "none") return -1;
  return parameters_.whole_number("candidate", 0, 0);
}

ELASTIC_DECL task<void> c10d_rendezvous::check_addresses() {
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
    why = objection_to_local_addr(*addresses, parameters_.local_addr, chosen_candidate(), is_own);
    if (!why.empty()) why = fmt::format("{} {}", parameters_.name_of("local_addr"), why);
  }
  if (!why.empty()) throw error(errc::invalid_argument, why);
  if (parameters_.conf.count("candidate") != 0) co_return;
  may_host_ = std::any_of(addresses->known.begin(), addresses->known.end(), [&](const auto& known) {
    return std::any_of(known.begin(), known.end(), is_own);
  });
}

ELASTIC_DECL task<void> c10d_rendezvous::reach_candidates() {
  co_await check_addresses();
  auto executor = co_await asio::this_coro::executor;
  // An earlier attempt may have been interrupted.
  servers_.clear();
  for (const endpoint& address : endpoints_) {
    servers_.push_back({make_rendezvous_connector(address, parameters_),
                        make_agents_store(executor, address, parameters_)});
  }
  co_await serve_endpoint();
  look_for_leader();
}

ELASTIC_DECL task<void> c10d_rendezvous::serve_endpoint() {
  next_try_ = parameters_.time->now() + settings_.keep_alive_interval;
  const bool is_chosen = parameters_.conf.count("candidate") != 0;
  const int chosen = chosen_candidate();
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
  may_host_ = false;
  servers_[static_cast<std::size_t>(candidate_->place())].agents =
      new_shared<memory_store>(host_->engine());
  if (watch_) kept_watch_ = watch_(host_->engine());
}

ELASTIC_DECL task<void> c10d_rendezvous::news() {
  if (!leader_ || !*may_host_ || link_->known().all_finished) {
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
  leader_->note_own_candidate(candidate_->place(), candidate_->node());
  parameters_.log.info("the port of {} is free now: this node serves there",
                       to_text(endpoints_[static_cast<std::size_t>(candidate_->place())]));
}

ELASTIC_DECL void c10d_rendezvous::look_for_leader() {
  leader_connector::options options;
  for (const candidate_server& server : servers_) options.candidates.push_back(server.connector);
  options.run_id = parameters_.run_id;
  options.list = list_;
  if (candidate_) {
    options.self = candidate_->place();
    options.node = candidate_->node();
  }
  options.interval = settings_.keep_alive_interval;
  options.time = parameters_.time;
  options.log = parameters_.log;
  leader_ = new_shared<leader_connector>(std::move(options));
  connector_ = leader_;
}

ELASTIC_DECL task<void> c10d_rendezvous::retire() {
  const bool is_over =
      is_closing_ || (link_ && (link_->known().closed || link_->known().all_finished));
  if (candidate_) co_await candidate_->retire(is_over);
  if (registry_) co_await registry_->leave(is_over);
}

ELASTIC_DECL void c10d_rendezvous::attach_to_registry() {
  registry_connector::node_state state;
  state.number = number_;
  const std::weak_ptr<rendezvous_link> known = link_;
  state.loss = [known]() -> std::optional<duration> {
    const auto link = known.lock();
    return link ? link->until_leader_is_fenced() : std::nullopt;
  };
  state.forgo_rounds = [known](std::int64_t last) {
    if (const auto link = known.lock()) link->forgo_rounds(last);
  };
  registry_->attach(std::move(state));
  // The node's claims depend on it.
  link_->tell_ends();
}

ELASTIC_DECL meeting_place c10d_rendezvous::server() const {
  if (registry_) return {registry_->leader().host, registry_->reaches_own_process()};
  if (!leader_) return {endpoint_.host, hosts()};
  const endpoint& address = endpoints_[static_cast<std::size_t>(leader_->leader())];
  return {address.host, leader_->reaches_own_process()};
}

ELASTIC_DECL task<void> c10d_rendezvous::join() {
  while (!link_->is_connected()) {
    throw_if_over();
    co_await news();
    if (!link_->was_connected()) co_await host_abandoned_endpoint();
  }
  const std::string address = link_->local_address();
  rendezvous_messages::join wish;
  wish.after = round_;
  wish.timeout = settings_.join_timeout;
  meeting_place meeting = server();
  const auto is_at_loopback = [](const endpoint& each) { return is_loopback(each.host); };
  const bool is_alone =
      registry_ ? is_loopback(meeting.host)
                : std::all_of(endpoints_.begin(), endpoints_.end(), is_at_loopback);
  wish.offer = co_await workers_.serve(address, is_alone, std::move(meeting));
  if (parameters_.secret) wish.addresses = text_of(own_addresses());
  link_->begin_join(std::move(wish));
  if (registry_) {
    co_await race(until_placed(), registry_->watch_registry());
  } else {
    co_await until_placed();
  }
  round_ = link_->known().placed->round;
}

ELASTIC_DECL task<void> c10d_rendezvous::until_placed() {
  while (!link_->known().placed) {
    throw_if_over();
    if (link_->known().refused) throw_refused(*link_->known().refused);
    co_await news();
  }
}

ELASTIC_DECL std::string c10d_rendezvous::obstacle() const {
  if (!link_) return {};
  const std::string obstacle = link_->obstacle();
  return obstacle.empty() && registry_ ? registry_->obstacle() : obstacle;
}

ELASTIC_DECL task<rendezvous_round> c10d_rendezvous::placed_round() {
  // The agents' store is that of the server that leads.
  if (leader_) agents_ = servers_[static_cast<std::size_t>(leader_->leader())].agents;
  if (registry_) agents_ = co_await registry_->agents();
  const rendezvous_messages::placed& placed = *link_->known().placed;
  rendezvous_round round;
  round.round = placed.round;
  round.term = placed.term;
  round.group_rank = placed.rank;
  round.group_world_size = placed.world;
  round.restarts = placed.restarts;
  round.master = placed.master;
  round.agents = new_shared<prefix_store>(
      fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, round.round), agents_);
  // No agent asks for the rounds before the last one any more.
  if (host_) host_->forget_rounds(parameters_.run_id, round.round - 1);
  if (registry_) registry_->forget_rounds(parameters_.run_id, round.round - 1);
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

ELASTIC_DECL void c10d_rendezvous::throw_if_in_no_round() const {
  if (round_ < 0) throw error(errc::invalid_argument, "this node was in no round yet");
}

ELASTIC_DECL void c10d_rendezvous::throw_if_over() const {
  const auto& knowledge = link_->known();
  if (knowledge.closed) {
    const bool succeeded = knowledge.closed->end == rendezvous_handler::job_end::succeeded;
    throw error(succeeded ? errc::rendezvous_finished : errc::rendezvous_closed,
                knowledge.closed->why);
  }
  if (knowledge.broken) throw_broken();
}

ELASTIC_DECL void c10d_rendezvous::throw_broken() const {
  try {
    std::rethrow_exception(link_->known().broken);
  } catch (const error& failure) {
    const bool is_torch = failure.code() == errc::not_supported;
    const bool is_stranger = failure.code() == errc::protocol_violation && !link_->was_connected();
    // Propagates the error if the caller can meet nodes of torchrun.
    if (is_torch ? watch_ != nullptr : !is_stranger) throw;
    // The endpoint names the wrong port, or the backend is the wrong one.
    throw error(errc::invalid_argument,
                is_torch ? fmt::format("{}; {}", failure.what(), torch_hint) : failure.what());
  }
}

ELASTIC_DECL void c10d_rendezvous::throw_refused(
    const rendezvous_messages::refused& refused) const {
  if (!refused.timeout) throw error(errc::invalid_argument, refused.why);
  throw error(errc::rendezvous_timeout,
              fmt::format("{} at {} within {} s ({})", refused.why, list_,
                          std::chrono::duration<double>(settings_.join_timeout).count(),
                          parameters_.name_of("join_timeout")));
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/c10d_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
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
  check_run_id(parameters_);
  take_settings();
  endpoint_ =
      parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint, c10d_port);
  check_port(endpoint_, parameters_);
  place_ = to_text(endpoint_);
  host_grace_ = parameters_.seconds("host_grace", host_grace_);
  is_host_ = parameters_.yes_or_no("is_host");
  parameters_.check_conf(
      meeting_settings({"is_host", "host_grace", "dialect", "secret_file", "worker_networks",
                        "candidate", "fast_takeover", "fingerprint"}));
  for (const char* name : {"candidate", "fast_takeover"}) {
    if (parameters_.conf.count(name) == 0) continue;
    throw error(errc::invalid_argument,
                fmt::format("{}: it is for several endpoints ({})", parameters_.name_of(name),
                            parameters_.name_of("endpoint")));
  }
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
                                              std::shared_ptr<leader_source> leaders)
    : parameters_(std::move(parameters)),
      place_(leaders->name()),
      workers_(parameters_),
      leaders_(std::move(leaders)) {
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
  link_->set_no_workers();
  co_await join();
  co_return co_await placed_round();
}

ELASTIC_DECL task<rendezvous_change> c10d_rendezvous::wait_for_change() {
  throw_if_in_no_round();
  for (;;) {
    // After the success of the job, no further change matters.
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
  agents_.reset();
  if (leaders_) {
    const bool is_over =
        is_closing_ || (link_ && (link_->known().closed || link_->known().all_finished));
    co_await leaders_->retire(is_over);
  }
  const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
  if (hosted) co_await hosted->stop();
}

ELASTIC_DECL task<void> c10d_rendezvous::begin() {
  auto executor = co_await asio::this_coro::executor;
  rendezvous_messages::hello greeting;
  greeting.run_id = parameters_.run_id;
  if (const auto& identity = internals::of(parameters_).identity) {
    greeting.node = *identity;
  } else {
    greeting.node = new_node(parameters_.shown_host());
    greeting.node.number = new_node_number();
  }
  const bool is_told_server = connector_ != nullptr;
  if (leaders_) {
    greeting.node.number.high = leaders_->number_of(greeting.node.number.high);
    connector_ = co_await leaders_->open(greeting.node.number.high);
  }
  if (!connector_) co_await reach_endpoint(executor);
  greeting.settings = settings_;
  greeting.name = as_node_name(parameters_.node_name.empty() ? host_name() : parameters_.node_name);
  const auto fingerprint = parameters_.conf.find("fingerprint");
  if (fingerprint != parameters_.conf.end()) greeting.fingerprint = fingerprint->second;
  check_length(parameters_.name_of("fingerprint"), greeting.fingerprint, greeting.most_fingerprint);
  greeting.hosts = hosts();
  link_ = new_shared<rendezvous_link>(connector_, std::move(greeting), host_grace_,
                                      parameters_.time, parameters_.log,
                                      internals::of(parameters_).reports);
  if (leaders_) leaders_->attach(link_);
  const bool may_be_torch = !is_told_server && !leaders_ && !host_ && !parameters_.secret;
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
  agents_ = internals::make<memory_store>(host_->engine());
  if (watch_) kept_watch_ = watch_(host_->engine());
  may_host_ = false;
  co_return true;
}

ELASTIC_DECL task<void> c10d_rendezvous::host_abandoned_endpoint() {
  if (leaders_) co_return;
  if (!may_host_) {
    const bool is_ours = co_await rendezvous_host::is_of_this_host(endpoint_);
    may_host_ = is_ours;
  }
  if (!*may_host_ || link_->was_connected()) co_return;
  const bool hosts_it = co_await host_endpoint();
  if (hosts_it) link_->set_own_server();
}

ELASTIC_DECL task<void> c10d_rendezvous::news() {
  return leaders_ ? leaders_->news() : link_->news();
}

ELASTIC_DECL meeting_place c10d_rendezvous::server() const {
  if (leaders_) return leaders_->server();
  return {endpoint_.host, hosts()};
}

ELASTIC_DECL task<void> c10d_rendezvous::join() {
  while (!link_->is_connected()) {
    throw_if_over();
    co_await news();
    if (!link_->was_connected()) co_await host_abandoned_endpoint();
  }
  const std::string address = link_->local_address();
  rendezvous_messages::join joining;
  joining.after = round_;
  joining.timeout = settings_.join_timeout;
  meeting_place meeting = server();
  const bool is_alone = leaders_ ? leaders_->is_at_loopback() : is_loopback(endpoint_.host);
  joining.offer = co_await workers_.serve(address, is_alone, std::move(meeting));
  if (parameters_.secret) joining.addresses = text_of(own_addresses());
  link_->begin_join(std::move(joining));
  task<void> placed = until_placed();
  if (leaders_) placed = leaders_->watch_during(std::move(placed));
  co_await std::move(placed);
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
  return obstacle.empty() && leaders_ ? leaders_->obstacle() : obstacle;
}

ELASTIC_DECL task<rendezvous_round> c10d_rendezvous::placed_round() {
  // The agents share the store of the leading server.
  if (leaders_) agents_ = co_await leaders_->agents();
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
  if (leaders_) leaders_->forget_rounds(parameters_.run_id, round.round - 1);
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
              fmt::format("{} at {} within {} s ({})", refused.why, place_,
                          std::chrono::duration<double>(settings_.join_timeout).count(),
                          parameters_.name_of("join_timeout")));
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/torch/torch_rendezvous.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
#include <support/cancelled_choice.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/reserved_port.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace torch_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::detail::internals;
using elastic::errc;
using elastic::rendezvous_factory;
using elastic::rendezvous_handler;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::c10d_rendezvous;
using elastic::detail::dynamic_rendezvous;
using elastic::detail::rendezvous_host;
using elastic::detail::rendezvous_protocol;

/// What the nodes of a job on this host are given.
rendezvous_parameters parameters_at(std::uint16_t port, int least_nodes, int most_nodes) {
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.run_id = "job";
  parameters.min_nodes = least_nodes;
  parameters.max_nodes = most_nodes;
  parameters.endpoint = fmt::format("127.0.0.1:{}", port);
  parameters.last_call_timeout = 20ms;
  parameters.join_timeout = 20s;
  return parameters;
}

/// A node whose handler is being made.
class node {
 public:
  explicit node(const rendezvous_parameters& parameters)
      : factory_(elastic::make_torch_rendezvous(parameters)) {}
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Has the handler made beside the test, and meets by it.
  void start(asio::any_io_executor executor) {
    done_ = std::make_shared<elastic::event_flag>(executor);
    asio::co_spawn(executor, meet(), [this](std::exception_ptr thrown) {
      failure = thrown;
      done_->set();
    });
  }

  /// Until it is in its first round, or has failed.
  task<void> end_of_start() { co_await done_->wait(); }

  bool has_met() const { return round.has_value(); }
  bool meets_natively() const {
    return std::dynamic_pointer_cast<c10d_rendezvous>(handler) != nullptr;
  }
  bool meets_as_torch() const {
    return std::dynamic_pointer_cast<dynamic_rendezvous>(handler) != nullptr;
  }

  /// What went wrong; empty: nothing.
  std::string problem() const {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return {};
  }

  task<void> leave() {
    if (handler) co_await handler->shutdown();
  }

  /// The one that is tried, then the one that was made.
  std::shared_ptr<rendezvous_handler> handler;
  std::optional<rendezvous_round> round;
  std::exception_ptr failure;

 private:
  task<void> meet() {
    handler = co_await factory_.make(handler);
    round = co_await handler->next_round();
  }

  rendezvous_factory factory_;
  std::shared_ptr<elastic::event_flag> done_;
};

/// Until it holds, which other tasks of this thread bring about.
task<void> until(std::function<bool()> holds) {
  elastic::system_time time;
  while (!holds()) co_await time.sleep_until(time.now() + 1ms);
}

CO_TEST("torch rendezvous: nodes of elasticrun meet in their own way", "[rendezvous]") {
  const auto parameters = parameters_at(elastic::test::reserved_port(), 2, 3);
  node host(parameters);
  node guest(parameters);
  const auto executor = co_await asio::this_coro::executor;
  for (node* each : {&host, &guest}) each->start(executor);
  for (node* each : {&host, &guest}) co_await each->end_of_start();
  for (node* each : {&host, &guest}) {
    INFO(each->problem());
    REQUIRE(each->has_met());
    CHECK(each->meets_natively());
    // Making the handler and the first `next_round` are one round.
    CHECK(each->round->round == 0);
    CHECK(each->round->group_world_size == 2);
  }
  co_await guest.leave();
  co_await host.leave();
}

/// A node that serves the store and one that comes to it meet as torchrun's nodes do.
task<void> meet_as_torch(rendezvous_parameters host_parameters,
                         rendezvous_parameters guest_parameters) {
  node host(host_parameters);
  node guest(guest_parameters);
  const auto executor = co_await asio::this_coro::executor;
  host.start(executor);
  co_await until([&] { return host.meets_as_torch(); });
  guest.start(executor);
  for (node* each : {&host, &guest}) {
    co_await each->end_of_start();
    INFO(each->problem());
    REQUIRE(each->has_met());
    CHECK(each->meets_as_torch());
    CHECK(each->round->group_world_size == 2);
  }
  co_await guest.leave();
  co_await host.leave();
}

CO_TEST("torch rendezvous: nodes that are given a dialect meet as torchrun's do", "[rendezvous]") {
  for (const std::string dialect : {"1.13", "2.0", "2.6"}) {
    CAPTURE(dialect);
    auto parameters = parameters_at(elastic::test::reserved_port(), 2, 3);
    parameters.conf["dialect"] = dialect;
    task<void> meeting = meet_as_torch(parameters, parameters);
    co_await std::move(meeting);
  }
}

CO_TEST("torch rendezvous: a node finds out that the server's nodes meet as torchrun's do",
        "[rendezvous]") {
  const auto parameters = parameters_at(elastic::test::reserved_port(), 2, 3);
  auto announced = parameters;
  announced.conf["dialect"] = "2.6";
  task<void> meeting = meet_as_torch(announced, parameters);
  co_await std::move(meeting);
}

/// A node that waits before anybody listens.
task<void> check_wait(bool is_announced) {
  const auto parameters = parameters_at(elastic::test::reserved_port(), 2, 3);
  auto waiting = parameters;
  waiting.conf["is_host"] = "no";
  auto hosting = parameters;
  if (is_announced) hosting.conf["dialect"] = "2.6";
  node guest(waiting);
  node host(hosting);
  const auto executor = co_await asio::this_coro::executor;
  guest.start(executor);
  co_await until([&] { return guest.handler && !guest.handler->obstacle().empty(); });
  CHECK_THAT(guest.handler->obstacle(), elastic::test::contains_text(parameters.endpoint));
  CHECK_FALSE(guest.has_met());
  host.start(executor);
  for (node* each : {&host, &guest}) {
    co_await each->end_of_start();
    INFO(each->problem());
    REQUIRE(each->has_met());
    CHECK(each->meets_as_torch() == is_announced);
  }
  co_await guest.leave();
  co_await host.leave();
}

CO_TEST("torch rendezvous: while nobody listens a node waits, then meets in elasticrun's way",
        "[rendezvous]") {
  co_await check_wait(false);
}

CO_TEST("torch rendezvous: while nobody listens a node waits, then meets in torchrun's way",
        "[rendezvous]") {
  co_await check_wait(true);
}

CO_TEST("torch rendezvous: a node with a dialect is turned away by those without one",
        "[rendezvous]") {
  const auto parameters = parameters_at(elastic::test::reserved_port(), 2, 3);
  auto announced = parameters;
  announced.conf["dialect"] = "2.0";
  announced.conf["is_host"] = "no";
  node host(parameters);
  node guest(announced);
  const auto executor = co_await asio::this_coro::executor;
  host.start(executor);
  guest.start(executor);
  co_await guest.end_of_start();
  CHECK(guest.problem() ==
        fmt::format("the nodes at {} meet in elasticrun's own way: for a mixed job start every "
                    "node of elasticrun with rendezvous_parameters::conf[\"dialect\"]=2.0",
                    parameters.endpoint));
  CHECK_FALSE(guest.handler);
  // The others take no notice.
  node third(parameters);
  third.start(executor);
  for (node* each : {&host, &third}) {
    co_await each->end_of_start();
    INFO(each->problem());
    REQUIRE(each->has_met());
    CHECK(each->meets_natively());
  }
  co_await third.leave();
  co_await host.leave();
}

CO_TEST("torch rendezvous: the choice holds: a server of the other kind counts as none",
        "[rendezvous]") {
  auto parameters = parameters_at(elastic::test::reserved_port(), 1, 2);
  parameters.conf["is_host"] = "no";
  parameters.conf["host_grace"] = "1";
  const elastic::endpoint at = elastic::parse_endpoint(parameters.endpoint, 0);
  using protocol = rendezvous_protocol;
  auto first = co_await rendezvous_host::try_host(at, true, parameters, protocol::native);
  REQUIRE(first);
  node guest(parameters);
  guest.start(co_await asio::this_coro::executor);
  co_await guest.end_of_start();
  INFO(guest.problem());
  REQUIRE(guest.has_met());
  CHECK(guest.meets_natively());
  co_await first->stop();
  first.reset();
  auto second = co_await rendezvous_host::try_host(at, true, parameters, protocol::torch);
  REQUIRE(second);
  std::string problem;
  try {
    // That its server is gone ends the round; then it looks for the server again.
    co_await guest.handler->wait_for_change();
    co_await guest.handler->next_round();
  } catch (const elastic::error& failure) {
    problem = failure.what();
  }
  CHECK_THAT(problem, elastic::test::contains_text(
                          "nobody served it again within 1 s (host_grace)"));
  CHECK(guest.meets_natively());
  co_await guest.leave();
  co_await second->stop();
}

TEST_CASE("torch rendezvous: settings that exclude each other are refused before anything is made",
          "[rendezvous]") {
  auto parameters = parameters_at(1, 2, 3);
  const auto check = [&](const std::string& problem) {
    CHECK_THROWS_WITH(elastic::make_torch_rendezvous(parameters),
                      elastic::test::contains_text(problem));
  };
  SECTION("a dialect that does not exist") {
    parameters.conf["dialect"] = "3.0";
    check("rendezvous_parameters::conf[\"dialect\"]=3.0: auto, 1.13, 2.0 or 2.6 is needed");
  }
  SECTION("a dialect, and numbers of nodes") {
    parameters.conf["dialect"] = "2.6";
    parameters.node_counts = {2, 3};
    check("a job with a dialect takes N or MIN:MAX");
  }
  SECTION("a setting that nobody knows") {
    parameters.conf["dialekt"] = "2.6";
    check("dialekt");
  }
  SECTION("the same, with a dialect") {
    parameters.conf["dialect"] = "2.6";
    parameters.conf["dialekt"] = "2.6";
    check("dialekt");
  }
  SECTION("no run id") {
    parameters.run_id.clear();
    check("rendezvous_parameters::run_id must not be empty");
  }
}

// ---- cancelled at each point where it waits ----------------------------------------------------

/// Has handlers made, each cancelled one event later than the one before, until one is made.
void check_cancellation(const rendezvous_parameters& parameters) {
  constexpr int most_events = 3000;
  int events = 0;
  while (!elastic::test::is_made_within(events, elastic::make_torch_rendezvous(parameters))) {
    REQUIRE(++events < most_events);
  }
  CHECK(events > 1);
}

TEST_CASE("torch rendezvous: cancelled at any point, it leaves nothing", "[rendezvous]") {
  auto parameters = parameters_at(elastic::test::reserved_port(), 1, 2);
  SECTION("as the host, in elasticrun's own way") { check_cancellation(parameters); }
  SECTION("as the host, in torchrun's way") {
    parameters.conf["dialect"] = "2.6";
    check_cancellation(parameters);
  }
}

/// A server on a thread of its own.
class background_host {
 public:
  background_host(const rendezvous_parameters& parameters, std::uint16_t port,
                  rendezvous_protocol protocol) {
    elastic::detail::listen_point at;
    at.address = "127.0.0.1";
    host_ = std::make_unique<rendezvous_host>(context_.get_executor(), at, port, parameters,
                                              protocol);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~background_host() {
    asio::co_spawn(context_, host_->stop(), [](std::exception_ptr) {});
    thread_.join();
  }
  /// As a client of its store does.
  void set(const std::string& key, const std::string& value) {
    internals::engine_of(*host_)->set(elastic::detail::store_wire_key(key), value);
  }

  background_host(const background_host&) = delete;
  background_host& operator=(const background_host&) = delete;

 private:
  asio::io_context context_{1};
  std::unique_ptr<rendezvous_host> host_;
  std::thread thread_;
};

TEST_CASE("torch rendezvous: cancelled at any point, a node at another's server leaves nothing",
          "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  auto parameters = parameters_at(port, 1, 2);
  parameters.conf["is_host"] = "no";
  SECTION("in elasticrun's own way") {
    const background_host server(parameters, port, rendezvous_protocol::native);
    check_cancellation(parameters);
  }
  SECTION("in torchrun's way, by a dialect") {
    const background_host server(parameters, port, rendezvous_protocol::torch);
    parameters.conf["dialect"] = "2.6";
    check_cancellation(parameters);
  }
  SECTION("in torchrun's way, as it finds out") {
    background_host server(parameters, port, rendezvous_protocol::torch);
    // It need not wait for somebody to write the first one.
    const elastic::detail::torch_state state;
    server.set(elastic::detail::torch_state_key("job"),
               elastic::detail::stored_text(state, elastic::detail::torch_dialect::torch_2_6));
    check_cancellation(parameters);
  }
}

}  // namespace torch_rendezvous_tests

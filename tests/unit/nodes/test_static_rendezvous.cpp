// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/nodes/detail/static_rendezvous.hpp>

#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/fixed_rendezvous.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace static_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::detail::internals;
using elastic::errc;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::static_rendezvous;
using elastic::test::client_of;
using elastic::test::error_of;
using elastic::test::refusal_of;

/// One of `nodes` nodes that meet at a port of this host.
rendezvous_parameters node(int rank, int nodes, std::uint16_t port) {
  rendezvous_parameters parameters;
  parameters.endpoint = "127.0.0.1:" + std::to_string(port);
  parameters.run_id = "a job";
  parameters.min_nodes = nodes;
  parameters.max_nodes = nodes;
  parameters.node_rank = rank;
  return parameters;
}

TEST_CASE("static rendezvous: what it cannot serve is refused", "[rendezvous]") {
  CHECK_FALSE(refusal_of<static_rendezvous>(node(0, 1, 29500)));
  CHECK_FALSE(refusal_of<static_rendezvous>(node(2, 3, 29500)));
  CHECK(refusal_of<static_rendezvous>(node(3, 3, 29500)) == errc::invalid_argument);
  CHECK(refusal_of<static_rendezvous>(node(-1, 3, 29500)) == errc::invalid_argument);
  CHECK_THROWS_WITH(static_rendezvous(node(0, 0, 29500)),
                    elastic::test::contains_text("min_nodes is 0"));
  rendezvous_parameters bad = node(0, 3, 29500);
  bad.min_nodes = 1;
  CHECK(refusal_of<static_rendezvous>(bad) == errc::invalid_argument);
  bad = node(0, 1, 29500);
  bad.endpoint = "host:port";
  CHECK(refusal_of<static_rendezvous>(bad) == errc::invalid_argument);
  // A single node may serve at any free port; several could not find it.
  CHECK_FALSE(refusal_of<static_rendezvous>(node(0, 1, 0)));
  CHECK(refusal_of<static_rendezvous>(node(0, 2, 0)) == errc::invalid_argument);
  CHECK(refusal_of<static_rendezvous>(node(1, 2, 0)) == errc::invalid_argument);
  for (const char* seconds : {"", "soon", "0", "-1", "1e9", "nan", "5s"}) {
    CAPTURE(seconds);
    bad = node(0, 1, 29500);
    bad.conf["timeout"] = seconds;
    CHECK(refusal_of<static_rendezvous>(bad) == errc::invalid_argument);
  }
}

CO_TEST("static rendezvous: the nodes have the ranks that they were given and one store",
        "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  static_rendezvous first(node(0, 2, port));
  static_rendezvous second(node(1, 2, port));
  CHECK(first.backend() == "static");
  const rendezvous_round of_first = co_await first.next_round();
  const rendezvous_round of_second = co_await second.next_round();
  CHECK(of_first.group_rank == 0);
  CHECK(of_second.group_rank == 1);
  CHECK(of_first.group_world_size == 2);
  CHECK(of_second.group_world_size == 2);
  CHECK(of_second.master.address == "127.0.0.1");
  CHECK(of_second.master.port == port);
  CHECK(of_first.master.served_by_agent);
  CHECK(of_second.master.served_by_agent);
  co_await of_second.agents->set("key", "value");
  const std::string seen = co_await of_first.agents->get("key");
  CHECK(seen == "value");
  // Workers are clients of the same store, under no prefix.
  elastic::tcp_store worker(co_await asio::this_coro::executor, client_of(of_second.master));
  const std::string raw = co_await worker.get("a job/key");
  CHECK(raw == "value");
  worker.close();
  co_await second.shutdown();
  co_await first.shutdown();
}

CO_TEST(
    "static rendezvous: a node tells the store that it is there, as torchrun's server waits for",
    "[rendezvous]") {
  elastic::tcp_store_server::options options;
  options.address = "127.0.0.1";
  elastic::tcp_store_server torchrun(co_await asio::this_coro::executor, options);
  static_rendezvous second(node(1, 2, torchrun.port()));
  co_await second.next_round();
  co_await second.next_round();
  CHECK(internals::engine_of(torchrun)->find("init/") == "1");
  co_await second.shutdown();
  co_await torchrun.stop();
}

task<void> come_late(static_rendezvous& node) {
  elastic::system_time time;
  co_await time.sleep_until(time.now() + 50ms);
  co_await node.next_round();
}

task<void> end(static_rendezvous& node, bool& ended) {
  co_await node.exit_barrier();
  co_await node.shutdown();
  ended = true;
}

CO_TEST("static rendezvous: node 0 serves until the others know that all have come to the end",
        "[rendezvous]") {
  static_rendezvous first(node(0, 3, elastic::test::reserved_port()));
  const rendezvous_round met = co_await first.next_round();
  auto executor = co_await asio::this_coro::executor;
  // Two nodes by hand: both have come to the barrier, and ask when node 0 has come as the last.
  elastic::tcp_store raw(executor, client_of(met.master));
  const std::string barrier = "a job/torchelastic/agent/terminal_state/";
  co_await raw.add(barrier + "num_members", 2);
  bool ended = false;
  elastic::event_flag done(executor);
  asio::co_spawn(executor, end(first, ended), [&](std::exception_ptr) { done.set(); });
  for (const int expected : {1, 2}) {
    co_await raw.get(barrier + "last_member");
    CHECK_FALSE(ended);
    const std::int64_t count = co_await raw.add("a job/elastic/static/num_left", 1);
    CHECK(count == expected);
  }
  co_await raw.set("a job/elastic/static/last_left", "");
  co_await done.wait();
  CHECK(ended);
}

CO_TEST("static rendezvous: nodes that reach the end together all pass it", "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  static_rendezvous first(node(0, 3, port));
  static_rendezvous second(node(1, 3, port));
  static_rendezvous third(node(2, 3, port));
  co_await first.next_round();
  co_await second.next_round();
  co_await third.next_round();
  bool ended[3] = {};
  std::vector<task<void>> ends;
  ends.push_back(end(first, ended[0]));
  ends.push_back(end(second, ended[1]));
  ends.push_back(end(third, ended[2]));
  co_await elastic::when_all(std::move(ends));
  CHECK((ended[0] && ended[1] && ended[2]));
}

CO_TEST("static rendezvous: a node that comes before node 0 waits for it", "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  static_rendezvous first(node(0, 2, port));
  static_rendezvous second(node(1, 2, port));
  using namespace asio::experimental::awaitable_operators;
  const rendezvous_round met = co_await (second.next_round() && come_late(first));
  CHECK(met.group_rank == 1);
  co_await second.shutdown();
  co_await first.shutdown();
}

CO_TEST("static rendezvous: node 0 that never comes ends the wait of the others", "[rendezvous]") {
  rendezvous_parameters parameters = node(1, 2, elastic::test::reserved_port());
  parameters.conf["timeout"] = "0.1";
  static_rendezvous second(parameters);
  const auto failure = co_await error_of(second.next_round());
  CHECK(failure == errc::rendezvous_timeout);
  co_await second.shutdown();
}

CO_TEST("static rendezvous: the wait for node 0 can be cancelled", "[rendezvous]") {
  static_rendezvous second(node(1, 2, elastic::test::reserved_port()));
  elastic::system_time time;
  const auto met = co_await elastic::with_deadline(time, time.now() + 50ms, second.next_round());
  CHECK_FALSE(met);
  co_await second.shutdown();
}

CO_TEST("static rendezvous: node 0 waits for its own name as the others do", "[rendezvous]") {
  rendezvous_parameters parameters = node(0, 2, 29500);
  parameters.endpoint = "no-such-host.invalid:29500";
  parameters.conf["timeout"] = "0.2";
  static_rendezvous first(std::move(parameters));
  const std::error_code failure = co_await error_of(first.next_round());
  CHECK(failure == errc::rendezvous_timeout);
}

CO_TEST("static rendezvous: a port in use is named", "[rendezvous]") {
  const elastic::tcp_store_server::options any_port;
  elastic::tcp_store_server other(co_await asio::this_coro::executor, any_port);
  static_rendezvous first(node(0, 1, other.port()));
  std::string message;
  try {
    co_await first.next_round();
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == errc::address_in_use);
    message = failure.what();
  }
  CHECK(message.find(std::to_string(other.port())) != std::string::npos);
  co_await first.shutdown();
  co_await other.stop();
}

CO_TEST("static rendezvous: a node alone has an empty store at the same port for each round",
        "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  static_rendezvous alone(node(0, 1, port));
  for (int round = 0; round < 20; ++round) {
    const rendezvous_round met = co_await alone.next_round();
    CHECK(met.round == round);
    REQUIRE(met.master.port == port);
    elastic::tcp_store worker(co_await asio::this_coro::executor, client_of(met.master));
    const std::int64_t count = co_await worker.add("init/", 1);
    REQUIRE(count == 1);
    // A worker that died with its connection open must not keep the port from the next round.
    if (round % 2 == 0) worker.close();
  }
  co_await alone.shutdown();
}

CO_TEST("static rendezvous: nobody joins, and a closed one has no further round", "[rendezvous]") {
  static_rendezvous alone(node(0, 1, elastic::test::reserved_port()));
  co_await alone.next_round();
  elastic::system_time time;
  const auto change =
      co_await elastic::with_deadline(time, time.now() + 20ms, alone.wait_for_change());
  CHECK_FALSE(change.has_value());
  co_await alone.close(elastic::rendezvous_handler::job_end::succeeded, "done");
  const auto refused = co_await error_of(alone.next_round());
  CHECK(refused == errc::rendezvous_closed);
  co_await alone.shutdown();
  co_await alone.shutdown();
}

}  // namespace static_rendezvous_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/detail/stored_rendezvous.hpp>

#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/store/tcp_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/fixed_rendezvous.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>
#include <support/skip.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace solo_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::stored_rendezvous;
using elastic::test::client_of;
using elastic::test::error_of;
using elastic::test::refusal_of;

rendezvous_parameters standalone() {
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.endpoint = "localhost:0";
  parameters.run_id = "a job";
  return parameters;
}

TEST_CASE("c10d rendezvous: what it cannot serve is refused", "[rendezvous]") {
  CHECK_FALSE(refusal_of<stored_rendezvous>(standalone()));
  rendezvous_parameters bad = standalone();
  bad.run_id.clear();
  CHECK(refusal_of<stored_rendezvous>(bad) == errc::invalid_argument);
  bad.run_id.assign(1025, 'x');
  CHECK(refusal_of<stored_rendezvous>(bad) == errc::invalid_argument);
  bad = standalone();
  bad.max_nodes = 2;
  CHECK(refusal_of<stored_rendezvous>(bad) == errc::invalid_argument);
  bad = standalone();
  bad.endpoint = "localhost:65536";
  CHECK(refusal_of<stored_rendezvous>(bad) == errc::invalid_argument);
}

CO_TEST("c10d rendezvous: the workers of one node meet by IPv6 if the endpoint is of it",
        "[rendezvous]") {
  const auto executor = co_await asio::this_coro::executor;
  const elastic::asio::ip::address loopback = elastic::asio::ip::address_v6::loopback();
  if (!elastic::is_local_address(executor, loopback)) {
    elastic::test::skip("it takes IPv6");
    co_return;
  }
  rendezvous_parameters parameters = standalone();
  parameters.endpoint = "[::1]:0";
  stored_rendezvous meeting(std::move(parameters));
  const rendezvous_round round = co_await meeting.next_round();
  CHECK(round.master.address == "::1");
  elastic::tcp_store worker(executor, client_of(round.master));
  const std::int64_t first = co_await worker.add("worker", 1);
  CHECK(first == 1);
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: one node, too, waits for the name of its endpoint", "[rendezvous]") {
  rendezvous_parameters parameters = standalone();
  parameters.endpoint = "no-such-host.invalid:29400";
  parameters.join_timeout = 200ms;
  stored_rendezvous meeting(std::move(parameters));
  const std::error_code failure = co_await error_of(meeting.next_round());
  CHECK(failure == errc::rendezvous_timeout);
}

CO_TEST("c10d rendezvous: each round serves the workers a store of its own", "[rendezvous]") {
  stored_rendezvous meeting(standalone());
  CHECK(meeting.backend() == "c10d");
  CHECK(meeting.run_id() == "a job");
  auto executor = co_await asio::this_coro::executor;
  const rendezvous_round first = co_await meeting.next_round();
  CHECK(first.round == 0);
  CHECK(first.group_rank == 0);
  CHECK(first.group_world_size == 1);
  CHECK(first.master.address == "127.0.0.1");
  CHECK(first.master.port != 0);
  CHECK(first.master.served_by_agent);
  elastic::tcp_store old_worker(executor, client_of(first.master));
  co_await old_worker.set("init/", "old");
  co_await first.agents->set("key", "of the first round");

  const rendezvous_round second = co_await meeting.next_round();
  CHECK(second.round == 1);
  elastic::tcp_store new_worker(executor, client_of(second.master));
  const std::vector<std::string> of_workers(1, "init/");
  const bool sees_old = co_await new_worker.check(of_workers);
  CHECK_FALSE(sees_old);
  const std::vector<std::string> of_agents(1, "key");
  const bool agents_see_old = co_await second.agents->check(of_agents);
  CHECK_FALSE(agents_see_old);
  // The old one is gone: who was its client is told so, and nobody new gets in.
  const auto set_again = co_await error_of(old_worker.set("init/", "late"));
  CHECK(set_again == errc::connection_failed);
  co_await meeting.shutdown();
  const auto after_all = co_await error_of(new_worker.set("key", "late"));
  CHECK(after_all == errc::connection_failed);
}

/// Ends the pause once the handler waits for that.
task<void> resume_soon(stored_rendezvous& meeting) {
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  meeting.resume();
}

CO_TEST("c10d rendezvous: one node pauses by itself", "[rendezvous]") {
  stored_rendezvous meeting(standalone());
  co_await meeting.next_round();
  meeting.pause("paused at a", true);
  const elastic::rendezvous_change change = co_await meeting.wait_for_change();
  CHECK(change.is_pause);
  CHECK(change.saves_first);
  CHECK(change.reason == "paused at a");
  CHECK(change.kind == elastic::rendezvous_change::cause::node_waiting);
  std::vector<task<void>> both;
  std::optional<rendezvous_round> next;
  both.push_back(elastic::detail::keep_result(meeting.next_round(), next));
  both.push_back(resume_soon(meeting));
  co_await elastic::when_all(std::move(both));
  CHECK(next->round == 1);
  CHECK(next->restarts == 0);
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: if agents do not share, rank 0 gets a free port to serve at",
        "[rendezvous]") {
  rendezvous_parameters parameters = standalone();
  parameters.share_worker_store = false;
  stored_rendezvous meeting(parameters);
  const rendezvous_round met = co_await meeting.next_round();
  CHECK_FALSE(met.master.served_by_agent);
  elastic::tcp_store_server::options options;
  options.port = met.master.port;
  elastic::tcp_store_server worker(co_await asio::this_coro::executor, options);
  CHECK(worker.port() == met.master.port);
  co_await worker.stop();
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: the address of this node is where its workers meet", "[rendezvous]") {
  rendezvous_parameters parameters = standalone();
  parameters.local_addr = "127.0.0.2";
  stored_rendezvous meeting(parameters);
  const rendezvous_round met = co_await meeting.next_round();
  CHECK(met.master.address == "127.0.0.2");
  elastic::tcp_store worker(co_await asio::this_coro::executor, client_of(met.master));
  co_await worker.set("key", "value");
  worker.close();
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: a second job at the same endpoint is refused", "[rendezvous]") {
  const std::uint16_t port = elastic::test::reserved_port();
  rendezvous_parameters parameters = standalone();
  parameters.endpoint = "127.0.0.1:" + std::to_string(port);
  stored_rendezvous first(parameters);
  stored_rendezvous second(parameters);
  co_await first.next_round();
  const auto refused = co_await error_of(second.next_round());
  CHECK(refused == errc::address_in_use);
  // Not by its own next round.
  co_await first.next_round();
  co_await first.shutdown();
  co_await second.next_round();
  co_await second.shutdown();
}

CO_TEST("c10d rendezvous: one that is closed has no further round", "[rendezvous]") {
  stored_rendezvous meeting(standalone());
  co_await meeting.next_round();
  co_await meeting.close(elastic::rendezvous_handler::job_end::succeeded, "done");
  const auto refused = co_await error_of(meeting.next_round());
  CHECK(refused == errc::rendezvous_closed);
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: nobody joins a job of one node", "[rendezvous]") {
  stored_rendezvous meeting(standalone());
  co_await meeting.next_round();
  elastic::system_time time;
  const auto change =
      co_await elastic::with_deadline(time, time.now() + 20ms, meeting.wait_for_change());
  CHECK_FALSE(change.has_value());
  co_await meeting.shutdown();
}

CO_TEST("c10d rendezvous: shutdown may come before any round and twice", "[rendezvous]") {
  stored_rendezvous meeting(standalone());
  co_await meeting.shutdown();
  co_await meeting.next_round();
  co_await meeting.shutdown();
  co_await meeting.shutdown();
}

TEST_CASE("c10d rendezvous: a setting that no backend has is refused", "[rendezvous]") {
  rendezvous_parameters parameters = standalone();
  parameters.join_timeout = 5s;
  parameters.conf["join_timout"] = "5";
  CHECK_THROWS_WITH(stored_rendezvous(parameters),
                    elastic::test::contains_text("did you mean join_timeout?"));
}

}  // namespace solo_rendezvous_tests

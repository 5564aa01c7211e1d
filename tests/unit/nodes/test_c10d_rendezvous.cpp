// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/c10d_rendezvous.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/testing/log_recorder.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace c10d_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::rendezvous_change;
using elastic::rendezvous_handler;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::c10d_rendezvous;
using elastic::detail::internals;
using elastic::test::error_of;

/// Nodes of one job on this host, each a handler, which meet at a port that was free.
class job {
 public:
  job(int min, int max) {
    parameters.backend = "c10d";
    parameters.run_id = "job";
    parameters.min_nodes = min;
    parameters.max_nodes = max;
    port = elastic::test::reserved_port();
    parameters.endpoint = fmt::format("127.0.0.1:{}", port);
    parameters.last_call_timeout = 2s;
    parameters.join_timeout = 20s;
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  c10d_rendezvous& node(std::size_t index) {
    while (nodes.size() <= index) nodes.push_back(std::make_unique<c10d_rendezvous>(parameters));
    return *nodes[index];
  }

  /// The first so many nodes enter the next round.
  task<std::vector<rendezvous_round>> meet(std::size_t count) {
    std::vector<std::optional<rendezvous_round>> rounds_by_node(count);
    std::size_t missing_rounds = count;
    auto executor = co_await asio::this_coro::executor;
    elastic::event_flag completion(executor);
    for (std::size_t index = 0; index < count; ++index) {
      auto on_round = [&, index](std::exception_ptr failure, rendezvous_round round) {
        if (failure) std::rethrow_exception(failure);
        rounds_by_node[index] = std::move(round);
        if (--missing_rounds == 0) completion.set();
      };
      asio::co_spawn(executor, node(index).next_round(), std::move(on_round));
    }
    co_await completion.wait();
    std::vector<rendezvous_round> rounds;
    for (auto& round : rounds_by_node) rounds.push_back(std::move(*round));
    co_return rounds;
  }

  /// The first of them hosts.
  task<void> end() {
    for (std::size_t index = nodes.size(); index-- > 0;) co_await nodes[index]->shutdown();
  }

  rendezvous_parameters parameters;
  std::uint16_t port;
  std::vector<std::unique_ptr<c10d_rendezvous>> nodes;
};

task<std::string> message_of(task<rendezvous_round> work) {
  try {
    co_await std::move(work);
  } catch (const elastic::error& failure) {
    co_return failure.what();
  }
  co_return "no error";
}

CO_TEST("c10d rendezvous: the nodes of one host meet, the first hosts", "[rendezvous]") {
  job test_job(3, 3);
  const auto rounds = co_await test_job.meet(3);
  std::vector<int> ranks;
  for (const rendezvous_round& round : rounds) {
    ranks.push_back(round.group_rank);
    CHECK(round.round == 0);
    CHECK(round.group_world_size == 3);
    CHECK(round.restarts == 0);
    CHECK(round.master.address == "127.0.0.1");
    CHECK(round.master.port == rounds[0].master.port);
    CHECK(round.master.served_by_agent);
  }
  std::sort(ranks.begin(), ranks.end());
  CHECK(ranks == std::vector<int>{0, 1, 2});
  // What they share in the round.
  co_await rounds[1].agents->set("key", "value");
  const std::string value = co_await rounds[2].agents->get("key");
  CHECK(value == "value");
  const std::string at_host = co_await rounds[0].agents->get("key");
  CHECK(at_host == "value");
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: no log line has the number of a node, which is as good as its place",
        "[rendezvous]") {
  job test_job(2, 3);
  elastic::testing::log_recorder log;
  test_job.parameters.log = log.log();
  const std::vector<std::uint64_t> halves{0x0123456789abcdef, 0x1123456789abcdee,
                                          0x2123456789abcded, 0x3123456789abcdec,
                                          0x4123456789abcdeb, 0x5123456789abcdea};
  for (std::size_t index = 0; index < 3; ++index) {
    internals::of(test_job.parameters).identity =
        elastic::detail::node_id("host", 1, static_cast<std::int64_t>(index),
                                 {halves[2 * index], halves[2 * index + 1]});
    test_job.node(index);
  }
  co_await test_job.meet(2);
  co_await test_job.node(1).report_failure("rank 1 ended: exit code 1");
  co_await test_job.node(0).wait_for_change();
  co_await test_job.meet(2);
  asio::co_spawn(co_await asio::this_coro::executor, test_job.node(2).next_round(),
                 [](std::exception_ptr failure, rendezvous_round) { CHECK_FALSE(failure); });
  co_await test_job.node(0).wait_for_change();
  co_await test_job.meet(2);
  co_await test_job.node(2).shutdown();
  co_await test_job.node(0).wait_for_change();
  co_await test_job.end();
  INFO(log.text());
  CHECK(log.has("node host_1_2 waits to join"));
  for (const std::uint64_t half : halves) {
    CHECK_FALSE(log.has(fmt::format("{:x}", half)));
    CHECK_FALSE(log.has(fmt::format("{:X}", half)));
    CHECK_FALSE(log.has(fmt::format("{}", half)));
  }
}

CO_TEST("c10d rendezvous: failed workers are told to every node, and counted for all",
        "[rendezvous]") {
  job test_job(2, 2);
  co_await test_job.meet(2);
  const rendezvous_change own_change =
      co_await test_job.node(1).report_failure("rank 1 ended: SIGKILL");
  const rendezvous_change other_change = co_await test_job.node(0).wait_for_change();
  CHECK(other_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(other_change.reason == own_change.reason);
  CHECK(other_change.reason.find("rank 1 ended: SIGKILL") != std::string::npos);
  CHECK(other_change.restarts == 1);
  CHECK_FALSE(own_change.on_other_node);
  CHECK(other_change.on_other_node);
  const auto rounds = co_await test_job.meet(2);
  CHECK(rounds[0].round == 1);
  CHECK(rounds[0].restarts == 1);
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: a node that comes ends the round, one that leaves does, too",
        "[rendezvous]") {
  job test_job(1, 3);
  co_await test_job.meet(2);
  std::optional<rendezvous_round> late_round;
  asio::co_spawn(
      co_await asio::this_coro::executor, test_job.node(2).next_round(),
      [&](std::exception_ptr, rendezvous_round round) { late_round = std::move(round); });
  rendezvous_change change = co_await test_job.node(0).wait_for_change();
  CHECK(change.kind == rendezvous_change::cause::node_waiting);
  auto rounds = co_await test_job.meet(2);
  CHECK(rounds[0].group_world_size == 3);
  co_await test_job.node(2).shutdown();
  REQUIRE(late_round);
  change = co_await test_job.node(0).wait_for_change();
  CHECK(change.kind == rendezvous_change::cause::node_lost);
  rounds = co_await test_job.meet(2);
  CHECK(rounds[0].group_world_size == 2);
  CHECK(rounds[0].restarts == 0);
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: the exit barrier opens when all have succeeded", "[rendezvous]") {
  job test_job(2, 2);
  co_await test_job.meet(2);
  asio::co_spawn(co_await asio::this_coro::executor, test_job.node(1).exit_barrier(),
                 [](std::exception_ptr failure) { CHECK_FALSE(failure); });
  co_await test_job.node(0).exit_barrier();
  // It stays open.
  co_await test_job.node(1).exit_barrier();
  co_await test_job.node(1).close(rendezvous_handler::job_end::succeeded, "all is done");
  const auto late_error = co_await error_of(test_job.node(2).next_round());
  CHECK(late_error == errc::rendezvous_finished);
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: a job that failed is over for all, also for those who wait",
        "[rendezvous]") {
  job test_job(1, 2);
  co_await test_job.meet(2);
  co_await test_job.node(1).close(rendezvous_handler::job_end::failed, "no restarts are left");
  const auto change_error = co_await error_of(test_job.node(0).wait_for_change());
  CHECK(change_error == errc::rendezvous_closed);
  const std::string late_reason = co_await message_of(test_job.node(2).next_round());
  CHECK(late_reason == "no restarts are left");
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: too few nodes end in an error that counts them", "[rendezvous]") {
  job test_job(2, 2);
  // Time enough to reach the host, however busy the machine is.
  test_job.parameters.join_timeout = 5s;
  const std::string reason = co_await message_of(test_job.node(0).next_round());
  CHECK(reason == fmt::format("1 of at least 2 nodes had joined at 127.0.0.1:{} within 5 s "
                              "(rendezvous_parameters::join_timeout)",
                              test_job.port));
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: an endpoint that nobody serves is an error that names it",
        "[rendezvous]") {
  job test_job(2, 2);
  test_job.parameters.conf["is_host"] = "no";
  test_job.parameters.join_timeout = 3s;
  const std::string reason = co_await message_of(test_job.node(0).next_round());
  CHECK(reason == fmt::format("could not reach the rendezvous at 127.0.0.1:{}: 127.0.0.1: "
                              "Connection refused",
                              test_job.port));
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: who must host and cannot says why", "[rendezvous]") {
  job test_job(2, 2);
  asio::ip::tcp::acceptor acceptor(co_await asio::this_coro::executor,
                                   {asio::ip::address_v4::loopback(), test_job.port});
  test_job.parameters.conf["is_host"] = "yes";
  const auto failure = co_await error_of(test_job.node(0).next_round());
  CHECK(failure == errc::address_in_use);
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: a host that leaves in order closes the job", "[rendezvous]") {
  job test_job(2, 2);
  co_await test_job.meet(2);
  co_await test_job.node(0).shutdown();
  const auto change_error = co_await error_of(test_job.node(1).wait_for_change());
  CHECK(change_error == errc::rendezvous_closed);
  const auto round_error = co_await error_of(test_job.node(1).next_round());
  CHECK(round_error == errc::rendezvous_closed);
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: cancelled while it waits for others, it is in no round", "[rendezvous]") {
  job test_job(1, 2);
  test_job.parameters.last_call_timeout = 30s;
  elastic::system_time time;
  const auto round = co_await with_deadline(time, time.now() + 50ms, test_job.node(0).next_round());
  CHECK_FALSE(round.has_value());
  co_await test_job.end();
}

CO_TEST("c10d rendezvous: every wait ends when it is cancelled", "[rendezvous]") {
  job test_job(2, 2);
  co_await test_job.meet(2);
  elastic::system_time time;
  const auto change =
      co_await with_deadline(time, time.now() + 20ms, test_job.node(0).wait_for_change());
  CHECK_FALSE(change.has_value());
  const bool has_passed =
      co_await with_deadline(time, time.now() + 20ms, test_job.node(0).exit_barrier());
  CHECK_FALSE(has_passed);
  co_await test_job.end();
}

TEST_CASE("c10d rendezvous: settings that are none are refused, and named", "[rendezvous]") {
  const std::vector<std::pair<const char*, const char*>> bad_settings = {
      {"is_host", "perhaps"},          {"join_timeout", "0"},
      {"last_call_timeout", "-1"},     {"keep_alive_max_attempt", "1.5"},
      {"keep_alive_interval", "soon"}, {"keep_alive_interval", "0.009"},
      {"keep_alive_interval", "1e-9"}, {"keep_alive_interval", "1e9"},
      {"reconnect_grace", ""},         {"host_grace", "0"}};
  for (const auto& [name, value] : bad_settings) {
    job test_job(2, 2);
    try {
      test_job.parameters.set(name, value);
      test_job.node(0);
      FAIL_CHECK(name << " was taken");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == errc::invalid_argument);
      CHECK(std::string(failure.what()).find(name) != std::string::npos);
    }
  }
  job test_job(2, 2);
  test_job.parameters.endpoint = "localhost:0";
  CHECK_THROWS_AS(test_job.node(0), elastic::error);
  test_job.parameters.endpoint = "localhost:1";
  test_job.parameters.run_id.clear();
  CHECK_THROWS_AS(test_job.node(0), elastic::error);
}

TEST_CASE("c10d rendezvous: a name that no server takes is refused, with its bound",
          "[rendezvous]") {
  job test_job(2, 2);
  test_job.parameters.run_id.assign(elastic::limits::run_id_bytes, 'r');
  test_job.parameters.local_addr.assign(elastic::limits::host_name_bytes, 'h');
  CHECK_NOTHROW(test_job.node(0));
  test_job.parameters.local_addr += 'h';
  CHECK_THROWS_WITH(test_job.node(1),
                    "rendezvous_parameters::local_addr: it has 256 bytes, and up to 255 are "
                    "allowed");
  test_job.parameters.run_id += 'r';
  CHECK_THROWS_WITH(
      test_job.node(1),
      "rendezvous_parameters::run_id: it has 1025 bytes, and up to 1024 are allowed");
}

CO_TEST("c10d rendezvous: jobs of other names do not meet at the same server", "[rendezvous]") {
  job first(2, 2);
  job second(1, 2);
  second.parameters.run_id = "another job";
  second.parameters.endpoint = first.parameters.endpoint;
  co_await first.meet(2);
  const auto rounds = co_await second.meet(1);
  CHECK(rounds[0].group_world_size == 1);
  co_await second.end();
  co_await first.end();
}

/// A server whose rendezvous is spoken to by hand.
struct service_stage {
  explicit service_stage(asio::any_io_executor executor) {
    elastic::tcp_store_server::options options;
    internals::of(options).extension =
        std::make_shared<elastic::detail::rendezvous_service>(elastic::logger());
    server = std::make_unique<elastic::tcp_store_server>(executor, options);
  }
  std::unique_ptr<elastic::tcp_store_server> server;
};

task<std::string> answer_to(asio::any_io_executor executor, std::uint16_t port, std::string bytes) {
  asio::ip::tcp::socket socket(executor);
  const asio::ip::tcp::endpoint server(asio::ip::address_v4::loopback(), port);
  co_await socket.async_connect(server, asio::use_awaitable);
  // In two pieces, the first of which is never the whole greeting.
  co_await asio::async_write(socket, asio::buffer(bytes.substr(0, 5)), asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(bytes.substr(5)), asio::use_awaitable);
  socket.shutdown(asio::ip::tcp::socket::shutdown_send);
  std::string answer;
  // Up to the end of the connection, whichever way it ends.
  co_await asio::async_read(socket, asio::dynamic_buffer(answer), elastic::detail::as_result);
  co_return answer;
}

std::string frame_of(const std::string& text) {
  std::string frame;
  elastic::detail::append_frame(frame, text);
  return frame;
}

elastic::detail::rendezvous_messages::welcome welcome_in(const std::string& frame) {
  constexpr std::size_t length_bytes = 4;
  REQUIRE(frame.size() > length_bytes);
  return std::get<elastic::detail::rendezvous_messages::welcome>(
      elastic::detail::parse_rendezvous_answer(frame.substr(length_bytes)));
}

std::vector<std::string> rude_messages(const std::string& greeting, const std::string& hello) {
  return {
      "elastic rendezvouz\n" + hello,
      greeting + frame_of("{}"),
      greeting + frame_of(R"({"kind": "keep_alive"})"),
      greeting + std::string("\xff\xff\xff\xff", 4),
  };
}

CO_TEST("rendezvous service: who breaks the protocol is disconnected, the others stay",
        "[rendezvous]") {
  auto executor = co_await asio::this_coro::executor;
  service_stage stage(executor);
  const std::uint16_t port = stage.server->port();
  const std::string greeting(elastic::detail::rendezvous_service::first_words);
  elastic::detail::rendezvous_messages::hello hello;
  hello.run_id = "job";
  hello.name = "node0";
  const std::string hello_frame =
      frame_of(elastic::detail::to_text(elastic::detail::rendezvous_request(hello)));

  const std::string polite_message = greeting + hello_frame;
  const std::string polite_answer = co_await answer_to(executor, port, polite_message);
  CHECK_FALSE(welcome_in(polite_answer).resumed);
  CHECK(welcome_in(polite_answer).term > 0);
  const std::vector<std::string> messages = rude_messages(greeting, hello_frame);
  for (const std::string& message : messages) {
    const std::string answer = co_await answer_to(executor, port, message);
    CHECK(answer.empty());
  }
  const std::string repeated_message = polite_message + hello_frame;
  const std::string second_answer = co_await answer_to(executor, port, repeated_message);
  CHECK(welcome_in(second_answer).resumed);
  CHECK(welcome_in(second_answer).term == welcome_in(polite_answer).term);
  co_await stage.server->stop();
}

}  // namespace c10d_rendezvous_tests

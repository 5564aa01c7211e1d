// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How nodes measure the ways between them, over sockets of this host.

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/free_port.hpp>
#include <program/doctor/link_probe.hpp>
#include <program/doctor/node_report.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/slow_clock.hpp>
#include <support/text.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace link_probe_test {

using elastic::test::has_text;
using elasticrun::link_report;
using elasticrun::link_server;
using elasticrun::node_report;

node_report peer_of(const link_server& server) {
  node_report peer;
  peer.address = "127.0.0.1";
  peer.port = server.port();
  peer.token = server.token();
  return peer;
}

/// What a probe of `peer` finds while `server` serves.
elastic::task<link_report> probed(link_server& server, node_report peer, bool measures_rate) {
  link_report link;
  const auto time = std::make_shared<elastic::system_time>();
  const auto probe = [](link_report& found, node_report to, bool sends,
                        std::shared_ptr<elastic::time_source> clock) -> elastic::task<void> {
    elastic::task<link_report> probing = elasticrun::probe_link(to, 1, sends, clock);
    found = co_await std::move(probing);
  };
  elastic::task<void> probing = probe(link, peer, measures_rate, time);
  elastic::task<void> serving = server.run();
  co_await elastic::race(std::move(probing), std::move(serving));
  co_return link;
}

CO_TEST("link probe: it finds the interface, the latency, the rate and the clock", "[program]") {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  link_server server(executor, "127.0.0.1", std::make_shared<elastic::system_time>());
  elastic::task<link_report> probing = probed(server, peer_of(server), true);
  const link_report link = co_await std::move(probing);
  CAPTURE(link.failure);
  CHECK(link.peer == 1);
  CHECK(link.address == "127.0.0.1");
  CHECK(link.interface == "lo");
  CHECK(link.latency_ns > 0);
  CHECK(link.bytes_per_second > 0);
  elastic::task<link_report> again = probed(server, peer_of(server), false);
  const link_report quiet = co_await std::move(again);
  CHECK(quiet.latency_ns > 0);
  CHECK(quiet.bytes_per_second == 0);
}

CO_TEST("link probe: who does not know the token learns nothing", "[program]") {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  link_server server(executor, "127.0.0.1", std::make_shared<elastic::system_time>());
  node_report peer = peer_of(server);
  peer.token.back() = peer.token.back() == 'a' ? 'b' : 'a';
  elastic::task<link_report> probing = probed(server, peer, true);
  const link_report link = co_await std::move(probing);
  CHECK(link.address.empty());
  CHECK(link.latency_ns == 0);
  CHECK(has_text(link.failure, "the connection"));
}

/// Sends bytes to a server, and notes all that it answers until it ends the connection.
elastic::task<void> note_answer(elastic::endpoint server, std::string bytes, std::string& answer) {
  auto connecting = elastic::detail::connect_tcp(std::move(server));
  auto socket = co_await std::move(connecting);
  elastic::detail::socket_stream stream(std::move(socket));
  elastic::task<void> writing = stream.write(std::move(bytes));
  co_await std::move(writing);
  for (std::string part(4096, ' ');;) {
    elastic::task<std::size_t> reading =
        stream.read_some(elastic::asio::buffer(part.data(), part.size()));
    const std::size_t size = co_await std::move(reading);
    if (size == 0) co_return;
    answer.append(part, 0, size);
  }
}

CO_TEST("link probe: who knows the token hears the time 16 times, and may send 64 MiB",
        "[program]") {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  std::vector<std::pair<std::string, std::size_t>> talks;
  talks.emplace_back("e" + std::string(16, '.'), 16 * 8);
  talks.emplace_back("f" + std::string(std::size_t{64} << 20, '.'), 64);
  for (const auto& [bytes, answer_bytes] : talks) {
    // It serves for ten seconds, which is short on a busy machine.
    link_server server(executor, "127.0.0.1", std::make_shared<elastic::test::slow_clock>(20));
    std::string answer;
    const elastic::endpoint place("127.0.0.1", server.port());
    elastic::task<void> asking = note_answer(place, server.token() + bytes, answer);
    elastic::task<void> serving = server.run();
    co_await elastic::race(std::move(asking), std::move(serving));
    CHECK(answer.size() == answer_bytes);
  }
}

CO_TEST("link probe: a node at which nobody listens is not reached", "[program]") {
  node_report peer;
  peer.address = "127.0.0.1";
  peer.port = elastic::free_port("127.0.0.1");
  peer.token = std::string(32, 'a');
  const auto time = std::make_shared<elastic::system_time>();
  elastic::task<link_report> probing = elasticrun::probe_link(peer, 2, true, time);
  const link_report link = co_await std::move(probing);
  CHECK(link.peer == 2);
  CHECK(link.address.empty());
  CHECK(has_text(link.failure, "Connection refused"));
}

}  // namespace link_probe_test

}  // namespace

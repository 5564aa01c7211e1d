// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/detail/worker_store_host.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace worker_store_host_tests {

using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::listen_point;
using elastic::detail::meeting_place;
using elastic::detail::worker_store_host;

task<listen_point> next_answer(std::shared_ptr<std::deque<std::string>> remaining) {
  listen_point point;
  if (remaining->empty()) co_return point;
  point.address = remaining->front();
  remaining->pop_front();
  co_return point;
}

/// What a resolver says to one look-up after the other; after the last it fails.
worker_store_host::look_up resolver_of(std::deque<std::string> answers) {
  const auto remaining = std::make_shared<std::deque<std::string>>(std::move(answers));
  return [remaining](const std::string&) { return next_answer(remaining); };
}

bool is_open(const char* address, std::uint16_t port) {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  std::error_code refused;
  socket.connect({asio::ip::make_address(address), port}, refused);
  return !refused;
}

rendezvous_parameters known_as_node0() {
  rendezvous_parameters parameters;
  parameters.local_addr = "node0";
  return parameters;
}

CO_TEST("workers' store: a name that cannot be looked up at a restart opens nothing",
        "[rendezvous]") {
  worker_store_host host(known_as_node0(), worker_store_host::ports::fresh,
                         resolver_of({"127.0.0.2", "127.0.0.4"}));
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    const meeting_place meeting{"head", true};
    const rendezvous_round::master_endpoint at = co_await host.serve("127.0.0.1", false, meeting);
    CHECK(is_open("127.0.0.2", at.port));
    CHECK(is_open("127.0.0.4", at.port));
    CHECK_FALSE(is_open("127.0.0.3", at.port));
    co_await host.stop();
  }
}

CO_TEST("workers' store: a name that was never found is looked up again", "[rendezvous]") {
  worker_store_host host(known_as_node0(), worker_store_host::ports::fresh,
                         resolver_of({"", "127.0.0.2"}));
  const meeting_place nowhere;
  const rendezvous_round::master_endpoint first = co_await host.serve("127.0.0.1", false, nowhere);
  CHECK(is_open("127.0.0.3", first.port));
  co_await host.stop();
  const rendezvous_round::master_endpoint second = co_await host.serve("127.0.0.1", false, nowhere);
  CHECK_FALSE(is_open("127.0.0.3", second.port));
  co_await host.stop();
}

CO_TEST("workers' store: on a host that is alone it is open at the address that the user chose",
        "[rendezvous]") {
  rendezvous_parameters parameters;
  parameters.local_addr = "127.0.0.2";
  worker_store_host host(parameters);
  const meeting_place meeting{"localhost", true};
  const rendezvous_round::master_endpoint at = co_await host.serve("127.0.0.1", true, meeting);
  CHECK(at.address == "127.0.0.2");
  CHECK(is_open("127.0.0.2", at.port));
  CHECK_FALSE(is_open("127.0.0.3", at.port));
  co_await host.stop();
}

CO_TEST("workers' store: it listens at every address if the user wants that, also on a host that "
        "is alone",
        "[rendezvous]") {
  for (const bool wants_all : {true, false}) {
    CAPTURE(wants_all);
    rendezvous_parameters parameters;
    if (wants_all) parameters.conf["listen"] = "all";
    worker_store_host host(parameters);
    const meeting_place meeting{"localhost", true};
    const rendezvous_round::master_endpoint at = co_await host.serve("127.0.0.1", true, meeting);
    CHECK(is_open("127.0.0.1", at.port));
    CHECK(is_open("127.0.0.3", at.port) == wants_all);
    co_await host.stop();
  }
}

CO_TEST("workers' store: one that the worker of rank 0 serves has another port in each round",
        "[rendezvous]") {
  rendezvous_parameters parameters;
  parameters.share_worker_store = false;
  worker_store_host host(parameters);
  const meeting_place nowhere;
  std::uint16_t former = 0;
  for (int round = 0; round < 3; ++round) {
    const rendezvous_round::master_endpoint at = co_await host.serve("127.0.0.1", true, nowhere);
    CHECK_FALSE(at.served_by_agent);
    CHECK(at.port != former);
    CHECK_FALSE(elastic::detail::port_lease::of(at.port));
    former = at.port;
    co_await host.stop();
  }
}

}  // namespace worker_store_host_tests

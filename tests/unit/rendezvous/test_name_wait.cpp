// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/detail/name_wait.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/error_of.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace name_wait_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::task;
using elastic::test::error_of;
using elastic::test::what_of;
using addresses = std::vector<elastic::asio::ip::address>;

/// A name server that learns a name with its look-up of this number, counted from 1.
struct name_server {
  int learns_at = 1;
  int look_ups = 0;

  static task<addresses> answer(name_server* server, std::string host) {
    CHECK(host == "node0");
    const bool knows_it = ++server->look_ups >= server->learns_at;
    co_return knows_it ? addresses(1, elastic::asio::ip::address_v4::loopback()) : addresses();
  }
  std::function<task<addresses>(std::string)> look_up() {
    return [this](std::string host) { return answer(this, std::move(host)); };
  }
};

struct scene {
  explicit scene(elastic::test::manual_time& time) {
    parameters.time = time.share();
    parameters.log = log->log();
  }
  task<void> wait(elastic::duration patience, std::string host = "node0") {
    return elastic::detail::wait_for_name(std::move(host), patience, parameters, server.look_up());
  }

  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  name_server server;
};

TIME_TEST("name wait: a name that resolves takes no time", "[rendezvous]") {
  scene now(time);
  const elastic::time_point begun = time.now();
  co_await now.wait(10s);
  CHECK(time.now() == begun);
  CHECK(now.server.look_ups == 1);
  CHECK(now.log->text().empty());
}

TIME_TEST("name wait: a host without an entry for localhost serves there at once",
          "[rendezvous]") {
  scene now(time);
  co_await now.wait(10s, "localhost");
  CHECK(now.server.look_ups == 0);
}

TIME_TEST("name wait: a name that resolves later is waited for, with one warning",
          "[rendezvous]") {
  scene now(time);
  now.server.learns_at = 10;
  const elastic::time_point begun = time.now();
  co_await now.wait(600s);
  CHECK(now.server.look_ups == 10);
  CHECK(time.now() - begun < 20s);
  CHECK(now.log->count("waiting up to 600 s for the name 'node0'",
                       elastic::log_level::warning) == 1);
}

TIME_TEST("name wait: its end is an error that names the host", "[rendezvous]") {
  scene now(time);
  now.server.learns_at = 1'000'000;
  const elastic::time_point begun = time.now();
  task<void> waiting = now.wait(7s);
  const std::error_code failure = co_await error_of(std::move(waiting));
  CHECK(failure == errc::rendezvous_timeout);
  CHECK(time.now() - begun == 7s);
  task<void> again = now.wait(1s);
  const std::string message = co_await what_of(std::move(again));
  CHECK_THAT(message, elastic::test::contains_text("the name 'node0' of "));
}

}  // namespace name_wait_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/registry_watch.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace registry_watch_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::time_point;
using elastic::detail::registry_watch;
using elastic::test::manual_time;

enum class registry { answers, refuses, is_silent };

/// A watch that runs beside a test, and the registry that it asks.
struct watched {
  explicit watched(manual_time& clock)
      : time(clock), watch("the key 'job'", [this] { return answer(); }, clock.share()) {}

  task<void> answer() {
    ++questions;
    if (state == registry::is_silent) co_await time.sleep_until(time_point::max());
    if (state == registry::refuses) {
      throw elastic::error(elastic::errc::connection_failed, "connection refused");
    }
  }

  task<void> run_beside(std::function<task<void>()> test) {
    task<void> testing = test();
    co_await elastic::race(watch.run(), std::move(testing));
  }

  task<void> pass(elastic::duration span) { return time.sleep_until(time.now() + span); }

  manual_time& time;
  registry state = registry::answers;
  int questions = 0;
  registry_watch watch;
};

TIME_TEST("registry watch: a registry that answers is no obstacle", "[rendezvous]") {
  watched here(time);
  std::function<task<void>()> test = [&here]() -> task<void> {
    co_await here.pass(1h);
    CHECK(here.questions > 0);
    CHECK(here.questions <= 1200);
    CHECK(here.watch.obstacle().empty());
  };
  co_await here.run_beside(std::move(test));
}

TIME_TEST("registry watch: within 5 s it says what is silent, since when, and until it answers",
          "[rendezvous]") {
  watched here(time);
  here.state = registry::is_silent;
  std::function<task<void>()> test = [&here]() -> task<void> {
    CHECK(here.watch.obstacle().empty());
    co_await here.pass(5s);
    CHECK(here.watch.obstacle() ==
          "the key 'job' could not be read for 4 s (no answer within 3 s)");
    co_await here.pass(56s);
    CHECK(here.watch.obstacle() ==
          "the key 'job' could not be read for 60 s (no answer within 3 s)");
    here.state = registry::refuses;
    co_await here.pass(10s);
    CHECK(here.watch.obstacle() ==
          "the key 'job' could not be read for 70 s (connection refused)");
    here.state = registry::answers;
    co_await here.pass(10s);
    CHECK(here.watch.obstacle().empty());
  };
  co_await here.run_beside(std::move(test));
}

TIME_TEST("registry watch: each wait begins anew", "[rendezvous]") {
  watched here(time);
  here.state = registry::refuses;
  std::function<task<void>()> test = [&here]() -> task<void> { co_await here.pass(10s); };
  co_await here.run_beside(test);
  CHECK_FALSE(here.watch.obstacle().empty());
  std::function<task<void>()> none = [&here]() -> task<void> {
    CHECK(here.watch.obstacle().empty());
    co_return;
  };
  co_await here.run_beside(std::move(none));
}

}  // namespace registry_watch_tests

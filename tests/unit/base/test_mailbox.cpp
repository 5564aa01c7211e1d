// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/mailbox.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {
namespace mailbox_tests {

using namespace std::chrono_literals;

TIME_TEST("mailbox: what was pushed is popped in its order", "[base]") {
  elastic::detail::mailbox<std::string> box(co_await asio::this_coro::executor);
  box.push("first");
  box.push("second");
  const std::string first = co_await box.pop();
  const std::string second = co_await box.pop();
  CHECK(first == "first");
  CHECK(second == "second");
}

task<void> push_later(manual_time& time, elastic::detail::mailbox<int>& box, int value) {
  co_await time.sleep_until(time.now() + 1s);
  box.push(value);
}

TIME_TEST("mailbox: pop waits for a push", "[base]") {
  elastic::detail::mailbox<int> box(co_await asio::this_coro::executor);
  asio::co_spawn(co_await asio::this_coro::executor, push_later(time, box, 7), asio::detached);
  const int value = co_await box.pop();
  CHECK(value == 7);
  CHECK(time.elapsed() == 1s);
}

TIME_TEST("mailbox: push never waits, however much is in it", "[base]") {
  elastic::detail::mailbox<int> box(co_await asio::this_coro::executor);
  for (int i = 0; i < 10'000; ++i) box.push(i);
  int sum = 0;
  for (int i = 0; i < 10'000; ++i) sum += co_await box.pop();
  CHECK(sum == 49'995'000);
}

TIME_TEST("mailbox: takes what can only be moved", "[base]") {
  elastic::detail::mailbox<std::unique_ptr<int>> box(co_await asio::this_coro::executor);
  box.push(std::make_unique<int>(5));
  const auto value = co_await box.pop();
  REQUIRE(value);
  CHECK(*value == 5);
}

// Pops one after the other until it is cancelled.
task<void> collect(elastic::detail::mailbox<int>& box, std::vector<int>& values) {
  for (;;) values.push_back(co_await box.pop());
}

class popping {
 public:
  popping() : time(context), box(context.get_executor()) { start(); }

  void start() {
    asio::co_spawn(context, collect(box, values),
                   asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr thrown) {
                     cancelled = thrown && detail::is_cancellation(thrown);
                   }));
    time.run();
  }

  asio::io_context context;
  manual_time time;
  elastic::detail::mailbox<int> box;
  asio::cancellation_signal cancel;
  std::vector<int> values;
  bool cancelled = false;
};

TEST_CASE("mailbox: a cancelled pop throws operation_aborted and takes nothing with it", "[base]") {
  popping on;
  on.cancel.emit(asio::cancellation_type::terminal);
  on.time.run();
  CHECK(on.cancelled);
  on.box.push(1);
  on.start();
  CHECK(on.values == std::vector<int>{1});
}

TEST_CASE("mailbox: a cancel right after a push does not lose the value", "[base]") {
  popping on;
  on.box.push(1);
  on.box.push(2);
  on.cancel.emit(asio::cancellation_type::terminal);
  on.time.run();
  CHECK(on.cancelled);
  on.start();
  CHECK(on.values == std::vector<int>{1, 2});
}

TEST_CASE("mailbox: a push right after a cancel does not lose the value", "[base]") {
  popping on;
  on.cancel.emit(asio::cancellation_type::terminal);
  on.box.push(1);
  on.time.run();
  CHECK(on.cancelled);
  on.start();
  CHECK(on.values == std::vector<int>{1});
}

TIME_TEST("mailbox: a value that arrives together with the deadline is not lost", "[base]") {
  auto executor = co_await asio::this_coro::executor;
  elastic::detail::mailbox<int> box(executor);
  int seen = 0;
  for (int i = 1; i <= 10; ++i) {
    asio::co_spawn(executor, push_later(time, box, i), asio::detached);
    const auto value = co_await with_deadline(time, time.now() + 1s, box.pop());
    // Either way round: popped now, or still there for the next pop.
    const int got = value ? *value : co_await box.pop();
    CHECK(got == i);
    ++seen;
  }
  CHECK(seen == 10);
}

TEST_CASE("mailbox: may be gone when who was given a value runs", "[base]") {
  asio::io_context context;
  manual_time time(context);
  auto box = std::make_unique<elastic::detail::mailbox<std::string>>(context.get_executor());
  std::string got;
  asio::co_spawn(context, box->pop(),
                 [&](std::exception_ptr, std::string value) { got = std::move(value); });
  time.run();
  box->push("the last one");
  box.reset();
  time.run();
  CHECK(got == "the last one");
}

TEST_CASE("mailbox: several who wait are served in their order", "[base]") {
  asio::io_context context;
  manual_time time(context);
  elastic::detail::mailbox<int> box(context.get_executor());
  std::vector<std::pair<int, int>> got;
  for (int who = 0; who < 3; ++who) {
    asio::co_spawn(context, box.pop(),
                   [&got, who](std::exception_ptr, int value) { got.emplace_back(who, value); });
  }
  time.run();
  for (int value = 10; value < 13; ++value) box.push(value);
  time.run();
  CHECK(got == std::vector<std::pair<int, int>>{{0, 10}, {1, 11}, {2, 12}});
}

}  // namespace mailbox_tests
}  // namespace elastic::test

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
  const std::string first_value = co_await box.pop();
  const std::string second_value = co_await box.pop();
  CHECK(first_value == "first");
  CHECK(second_value == "second");
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

class box_reader {
 public:
  box_reader() : time(context), box(context.get_executor()) { start(); }

  void start() {
    asio::co_spawn(
        context, collect(box, values),
        asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr exception) {
          is_cancelled = exception && detail::is_cancellation(exception);
        }));
    time.run();
  }

  asio::io_context context;
  manual_time time;
  elastic::detail::mailbox<int> box;
  asio::cancellation_signal cancel;
  std::vector<int> values;
  bool is_cancelled = false;
};

TEST_CASE("mailbox: a cancelled pop throws operation_aborted and takes nothing with it", "[base]") {
  box_reader reader;
  reader.cancel.emit(asio::cancellation_type::terminal);
  reader.time.run();
  CHECK(reader.is_cancelled);
  reader.box.push(1);
  reader.start();
  CHECK(reader.values == std::vector<int>{1});
}

TEST_CASE("mailbox: a cancel right after a push does not lose the value", "[base]") {
  box_reader reader;
  reader.box.push(1);
  reader.box.push(2);
  reader.cancel.emit(asio::cancellation_type::terminal);
  reader.time.run();
  CHECK(reader.is_cancelled);
  reader.start();
  CHECK(reader.values == std::vector<int>{1, 2});
}

TEST_CASE("mailbox: a push right after a cancel does not lose the value", "[base]") {
  box_reader reader;
  reader.cancel.emit(asio::cancellation_type::terminal);
  reader.box.push(1);
  reader.time.run();
  CHECK(reader.is_cancelled);
  reader.start();
  CHECK(reader.values == std::vector<int>{1});
}

TIME_TEST("mailbox: a value that arrives together with the deadline is not lost", "[base]") {
  auto executor = co_await asio::this_coro::executor;
  elastic::detail::mailbox<int> box(executor);
  int count = 0;
  for (int i = 1; i <= 10; ++i) {
    asio::co_spawn(executor, push_later(time, box, i), asio::detached);
    const auto value = co_await with_deadline(time, time.now() + 1s, box.pop());
    // Either way round: popped now, or still there for the next pop.
    const int number = value ? *value : co_await box.pop();
    CHECK(number == i);
    ++count;
  }
  CHECK(count == 10);
}

TEST_CASE("mailbox: may be gone when who was given a value runs", "[base]") {
  asio::io_context context;
  manual_time time(context);
  auto box = std::make_unique<elastic::detail::mailbox<std::string>>(context.get_executor());
  std::string result;
  asio::co_spawn(context, box->pop(),
                 [&](std::exception_ptr, std::string value) { result = std::move(value); });
  time.run();
  box->push("the last one");
  box.reset();
  time.run();
  CHECK(result == "the last one");
}

TEST_CASE("mailbox: several who wait are served in their order", "[base]") {
  asio::io_context context;
  manual_time time(context);
  elastic::detail::mailbox<int> box(context.get_executor());
  std::vector<std::pair<int, int>> deliveries;
  for (int waiter = 0; waiter < 3; ++waiter) {
    asio::co_spawn(context, box.pop(), [&deliveries, waiter](std::exception_ptr, int value) {
      deliveries.emplace_back(waiter, value);
    });
  }
  time.run();
  for (int value = 10; value < 13; ++value) box.push(value);
  time.run();
  CHECK(deliveries == std::vector<std::pair<int, int>>{{0, 10}, {1, 11}, {2, 12}});
}

}  // namespace mailbox_tests
}  // namespace elastic::test

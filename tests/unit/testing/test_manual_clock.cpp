// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The virtual clock on which other tests rely.

#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {
namespace manual_clock_tests {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

task<void> note_after(manual_time& time, duration span, std::string name,
                      std::vector<std::string>& notes) {
  co_await time.sleep_until(time.now() + span);
  notes.push_back(std::move(name));
}

void start(manual_time& time, task<void> work) {
  asio::co_spawn(time.context(), std::move(work), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

TEST_CASE("manual_clock: jumps to one deadline after the other", "[testing]") {
  asio::io_context context;
  manual_time time(context);
  std::vector<std::string> notes;
  start(time, note_after(time, 3h, "late", notes));
  start(time, note_after(time, 1ms, "early", notes));
  time.run();
  CHECK(notes == std::vector<std::string>{"early", "late"});
  CHECK(time.elapsed() == 3h);
  CHECK(time.wall_now() - manual_time::wall_start == 3h);
}

TEST_CASE("manual_clock: equal deadlines wake in the order of going to sleep", "[testing]") {
  asio::io_context context;
  manual_time time(context);
  std::vector<std::string> notes;
  for (const char* name : {"1", "2", "3", "4", "5"}) start(time, note_after(time, 1s, name, notes));
  time.run();
  CHECK(notes == std::vector<std::string>{"1", "2", "3", "4", "5"});
}

TIME_TEST("manual_clock: a deadline that has passed does not move the clock", "[testing]") {
  co_await time.sleep_until(time.now() + 10s);
  co_await time.sleep_until(time.now() - 5s);
  CHECK(time.elapsed() == 10s);
}

TEST_CASE("manual_clock: run_for ends where it was told, not at the last deadline", "[testing]") {
  asio::io_context context;
  manual_time time(context);
  std::vector<std::string> notes;
  start(time, note_after(time, 10s, "at 10", notes));
  start(time, note_after(time, 30s, "at 30", notes));
  time.run_for(20s);
  CHECK(notes == std::vector<std::string>{"at 10"});
  CHECK(time.elapsed() == 20s);
  time.run_for(10s);
  CHECK(notes.size() == 2);
}

task<int> fail_after(manual_time& time, duration span) {
  co_await time.sleep_until(time.now() + span);
  throw std::runtime_error("failed");
  co_return 0;
}

TEST_CASE("manual_clock: run returns what the coroutine does, and throws what it throws",
          "[testing]") {
  asio::io_context context;
  manual_time time(context);
  auto return_seven = [](manual_time& t) -> task<int> {
    co_await t.sleep_until(t.now() + 1s);
    co_return 7;
  };
  CHECK(time.run(return_seven(time)) == 7);
  REQUIRE_THROWS_WITH(time.run(fail_after(time, 1s)), "failed");
}

TEST_CASE("manual_clock: run says so if a coroutine can never end", "[testing]") {
  asio::io_context context;
  manual_time time(context);
  event_flag flag(context.get_executor());
  CHECK_THROWS_AS(time.run(flag.wait()), std::logic_error);
  CHECK_THROWS_AS(time.run(time.sleep_until(time_point::max())), std::logic_error);
}

TIME_TEST("manual_clock: the loser of a race between two sleeps is cancelled", "[testing]") {
  const auto winner =
      co_await (time.sleep_until(time.now() + 2s) || time.sleep_until(time.now() + 1s));
  CHECK(winner.index() == 1);
  CHECK(time.elapsed() == 1s);
  CHECK(time.sleepers() == 0);
}

TEST_CASE("manual_clock: a cancelled sleep throws and leaves nothing behind", "[testing]") {
  asio::io_context context;
  manual_time time(context);
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio::cancellation_signal cancel;
    bool was_aborted = false;
    auto sleep = [](manual_time& t, bool& is_aborted) -> task<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      try {
        co_await t.sleep_until(time_point::max());
      } catch (const std::system_error& failure) {
        is_aborted = failure.code() == asio::error::operation_aborted;
      }
    };
    asio::co_spawn(context, sleep(time, was_aborted),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    time.run();
    REQUIRE(time.sleepers() == 1);
    cancel.emit(type);
    CHECK(time.sleepers() == 0);
    time.run();
    CHECK(was_aborted);
  }
}

TIME_TEST("manual_clock: works on strands", "[testing]") {
  auto strand = asio::make_strand(co_await asio::this_coro::executor);
  co_await asio::co_spawn(strand, time.sleep_until(time.now() + 1min), asio::use_awaitable);
  CHECK(time.elapsed() == 1min);
}

TEST_CASE("manual_clock: what still sleeps is destroyed with the clock", "[testing]") {
  auto witness = std::make_shared<int>(0);
  {
    asio::io_context context;
    manual_time time(context);
    auto hold = [](manual_time& t, std::shared_ptr<int> value) -> task<void> {
      co_await (t.sleep_until(time_point::max()) || t.sleep_until(t.now() + 1h));
      *value = 1;
    };
    start(time, hold(time, witness));
    time.run_for(1s);
    CHECK(time.sleepers() == 2);
    CHECK(witness.use_count() == 2);
  }
  CHECK(witness.use_count() == 1);
  CHECK(*witness == 0);
}

task<void> beat(manual_time& time, int times, std::size_t& order, int sleeper) {
  for (int i = 0; i < times; ++i) {
    co_await time.sleep_until(time.now() + std::chrono::milliseconds(5 + sleeper % 7));
    order = order * 31 + static_cast<std::size_t>(sleeper);
  }
}

std::size_t order_of_beats() {
  asio::io_context context;
  manual_time time(context);
  std::size_t order = 0;
  for (int sleeper = 0; sleeper < 2000; ++sleeper) start(time, beat(time, 20, order, sleeper));
  time.run();
  return order;
}

TEST_CASE("manual_clock: thousands of sleepers wake in the same order every time", "[testing]") {
  CHECK(order_of_beats() == order_of_beats());
}

}  // namespace manual_clock_tests
}  // namespace elastic::test

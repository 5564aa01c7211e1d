// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>

namespace elastic::test {
namespace event_flag_tests {

using namespace std::chrono_literals;

task<void> count_when_set(event_flag& flag, int& count) {
  co_await flag.wait();
  ++count;
}

TEST_CASE("event_flag: wakes everyone who waits, and nobody before", "[base]") {
  asio::io_context context;
  manual_time time(context);
  event_flag flag(context.get_executor());
  int wake_ups = 0;
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(context, count_when_set(flag, wake_ups), asio::detached);
  }
  time.run();
  CHECK_FALSE(flag.is_set());
  CHECK(wake_ups == 0);
  flag.set();
  CHECK(flag.is_set());
  time.run();
  CHECK(wake_ups == 3);
}

TIME_TEST("event_flag: who comes later need not wait", "[base]") {
  event_flag flag(co_await asio::this_coro::executor);
  flag.set();
  flag.set();
  co_await flag.wait();
  co_await flag.wait();
  CHECK(time.elapsed() == 0s);
}

TEST_CASE("event_flag: a cancelled wait throws operation_aborted, the others wait on", "[base]") {
  asio::io_context context;
  manual_time time(context);
  event_flag flag(context.get_executor());
  int wake_ups = 0;
  std::exception_ptr failure;
  asio::cancellation_signal cancel;
  asio::co_spawn(context, flag.wait(),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr exception) { failure = exception; }));
  asio::co_spawn(context, count_when_set(flag, wake_ups), asio::detached);
  time.run();
  cancel.emit(asio::cancellation_type::terminal);
  time.run();
  REQUIRE(failure);
  CHECK(detail::is_cancellation(failure));
  CHECK(wake_ups == 0);
  flag.set();
  time.run();
  CHECK(wake_ups == 1);
}

TIME_TEST("event_flag: can be waited for with a deadline, again and again", "[base]") {
  event_flag flag(co_await asio::this_coro::executor);
  for (int i = 0; i < 3; ++i) {
    const bool is_set = co_await with_deadline(time, time.now() + 1s, flag.wait());
    CHECK_FALSE(is_set);
  }
  flag.set();
  const bool is_set = co_await with_deadline(time, time.now() + 1s, flag.wait());
  CHECK(is_set);
  CHECK(time.elapsed() == 3s);
}

TEST_CASE("event_flag: may be gone when who was woken runs; who waits at its end is told so",
          "[base]") {
  asio::io_context context;
  manual_time time(context);
  for (const bool sets_flag : {true, false}) {
    auto flag = std::make_unique<event_flag>(context.get_executor());
    std::exception_ptr failure;
    bool has_ended = false;
    asio::co_spawn(context, flag->wait(), [&](std::exception_ptr exception) {
      has_ended = true;
      failure = exception;
    });
    time.run();
    if (sets_flag) flag->set();
    flag.reset();
    time.run();
    CHECK(has_ended);
    CHECK((failure == nullptr) == sets_flag);
    CHECK((!failure || detail::is_cancellation(failure)));
  }
}

TEST_CASE("event_flag: a request that comes after the wait finds nobody", "[base]") {
  asio::io_context context;
  manual_time time(context);
  asio::cancellation_signal cancel;
  auto flag = std::make_unique<event_flag>(context.get_executor());
  bool was_woken = false;
  asio::co_spawn(context, flag->wait(),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr exception) { was_woken = !exception; }));
  time.run();
  flag->set();
  cancel.emit(asio::cancellation_type::terminal);
  flag.reset();
  cancel.emit(asio::cancellation_type::terminal);
  time.run();
  CHECK(was_woken);
}

}  // namespace event_flag_tests
}  // namespace elastic::test

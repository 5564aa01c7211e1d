// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <elastic/testing/manual_clock.hpp>
#include <support/catch.hpp>

namespace elastic::test {

using manual_time = testing::manual_clock;

/// Runs the coroutine of a TIME_TEST; fails if something that it started still exists after its
/// end.
inline void run_timed_test(task<void> (*body)(manual_time&)) {
  asio::io_context context;
  manual_time time(context);
  time.run(body(time));
  context.restart();
  context.poll();
  if (time.sleepers() != 0 || !context.stopped()) {
    FAIL("the coroutine ended, but something that it started is still there");
  }
}

}  // namespace elastic::test

/// A test case whose body is a coroutine under virtual time, available as `time`:
/// `TIME_TEST("deadline: ends the work", "[base]") { co_await with_deadline(time, …); }`.
#define TIME_TEST(...) ELASTIC_TIME_TEST_COUNTED(__COUNTER__, __VA_ARGS__)
#define ELASTIC_TIME_TEST_COUNTED(number, ...) ELASTIC_TIME_TEST_NAMED(number, __VA_ARGS__)
#define ELASTIC_TIME_TEST_NAMED(number, ...)                                          \
  static ::elastic::task<void> elastic_time_test_##number(::elastic::test::manual_time& time); \
  TEST_CASE(__VA_ARGS__) { ::elastic::test::run_timed_test(&elastic_time_test_##number); } \
  static ::elastic::task<void> elastic_time_test_##number(                            \
      [[maybe_unused]] ::elastic::test::manual_time& time)

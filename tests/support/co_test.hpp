// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace elastic::test {

/// How long one coroutine test may take in real time. It is there to end what hangs: a busy machine
/// can keep a process from its processors for many seconds.
inline constexpr std::chrono::seconds test_limit{240};

/// How long what a test has started may take to end.
inline constexpr std::chrono::seconds leftover_limit{60};

/// Runs a coroutine to its end on its own io_context and on the calling thread.
///
/// Rethrows exceptions of the coroutine. Fails the test case if the coroutine takes longer than
/// `test_limit`, or if something that it started still runs `leftover_limit` after its end. A
/// coroutine that is over its limit is cancelled first (terminal), so that its clean-up runs.
inline void run_test(task<void> body) {
  asio::io_context context;
  asio::cancellation_signal cancel;
  bool ended = false;
  std::exception_ptr failure;
  auto on_end = [&](std::exception_ptr thrown) {
    ended = true;
    failure = thrown;
    if (failure) context.stop();
  };
  asio::co_spawn(context, std::move(body),
                 asio::bind_cancellation_slot(cancel.slot(), std::move(on_end)));

  const auto limit = std::chrono::steady_clock::now() + test_limit;
  while (!ended && context.run_one_until(limit) != 0) {
  }
  if (!ended) {
    cancel.emit(asio::cancellation_type::terminal);
    context.restart();
    context.run_for(leftover_limit);
    FAIL("the coroutine did not end within " << test_limit.count() << " s");
  }
  if (failure) std::rethrow_exception(failure);
  context.run_for(leftover_limit);
  if (!context.stopped()) {
    FAIL("the coroutine ended, but something that it started still runs after "
         << leftover_limit.count() << " s");
  }
}

}  // namespace elastic::test

/// A test case whose body is a coroutine: `CO_TEST("store: get waits", "[store]") { … }`.
/// Sections, INFO and every assertion work in it; assertions only on the thread that runs it.
#define CO_TEST(...) ELASTIC_CO_TEST_COUNTED(__COUNTER__, __VA_ARGS__)
#define ELASTIC_CO_TEST_COUNTED(number, ...) ELASTIC_CO_TEST_NAMED(number, __VA_ARGS__)
#define ELASTIC_CO_TEST_NAMED(number, ...)                                          \
  static ::elastic::task<void> elastic_co_test_##number();                          \
  TEST_CASE(__VA_ARGS__) { ::elastic::test::run_test(elastic_co_test_##number()); } \
  static ::elastic::task<void> elastic_co_test_##number()

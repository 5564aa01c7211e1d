// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>

#include <support/catch.hpp>
#include <support/thread_count.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <utility>

namespace blocking_tests {

using elastic::test::threads_at_first;
using elastic::test::threads_become;

elastic::task<void> call(std::function<int()> work) {
  co_await elastic::detail::run_blocking<int>(std::move(work));
}

// Under AddressSanitizer, this reveals a thread that touches destroyed objects.
TEST_CASE("run_blocking: a call that was given up may end after its context", "[base]") {
  const std::ptrdiff_t threads_before = threads_at_first();
  std::promise<void> release;
  const std::shared_future<void> release_future = release.get_future().share();
  std::exception_ptr failure;
  {
    asio::io_context context;
    asio::cancellation_signal cancel;
    const std::function<int()> work = [release_future] {
      release_future.wait();
      return 1;
    };
    asio::co_spawn(
        asio::make_strand(context), call(work),
        asio::bind_cancellation_slot(
            cancel.slot(), [&failure](std::exception_ptr exception) { failure = exception; }));
    context.poll();
    cancel.emit(asio::cancellation_type::terminal);
    context.run();
  }
  CHECK(failure);
  release.set_value();
  CHECK(threads_become(threads_before));
}

TEST_CASE("run_blocking: a call that has ended leaves its context alone", "[base]") {
  const std::ptrdiff_t threads_before = threads_at_first();
  for (int round = 0; round < 50; ++round) {
    asio::io_context context;
    const std::function<int()> work = [] { return 1; };
    bool has_ended = false;
    asio::co_spawn(asio::make_strand(context), call(work),
                   [&has_ended](std::exception_ptr) { has_ended = true; });
    context.run();
    CHECK(has_ended);
    // Its thread has ended, too: forked workers need a process of one.
    CHECK(threads_become(threads_before));
  }
}

}  // namespace blocking_tests

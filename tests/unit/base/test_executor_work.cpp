// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <support/catch.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace detail = elastic::detail;

TEST_CASE("executor work: posted work runs later, in its order", "[base]") {
  asio::io_context context;
  const auto strand = asio::make_strand(asio::any_io_executor(context.get_executor()));
  std::string order;
  detail::post_work(context.get_executor(), [&order] { order += 'a'; });
  detail::post_work(strand, [&order] { order += 'b'; });
  CHECK(order.empty());
  context.run();
  CHECK(order == "ab");
}

TEST_CASE("executor work: dispatched work runs at once on its strand", "[base]") {
  asio::io_context context;
  const auto strand = asio::make_strand(asio::any_io_executor(context.get_executor()));
  std::string order;
  detail::post_work(strand, [&order, &strand] {
    detail::dispatch_work(strand, [&order] { order += 'a'; });
    order += 'b';
  });
  context.run();
  CHECK(order == "ab");
}

TEST_CASE("executor work: what never runs is destroyed once", "[base]") {
  const auto held = std::make_shared<int>();
  {
    asio::io_context context;
    detail::post_work(context.get_executor(), [held] { FAIL("the context does not run"); });
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
  detail::executor_work first([held] {});
  detail::executor_work second(std::move(first));
  CHECK(held.use_count() == 2);
}

TEST_CASE("executor work: the end of a task comes with its failure", "[base]") {
  asio::io_context context;
  std::exception_ptr failure;
  const auto work = []() -> elastic::task<void> {
    throw std::runtime_error("broken");
    co_return;
  };
  detail::start_task(context.get_executor(), work(),
                     [&failure](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  REQUIRE(failure);
  CHECK_THROWS_WITH(std::rethrow_exception(failure), "broken");
}

namespace {

elastic::task<int> wait_and_give(asio::any_io_executor executor) {
  asio::steady_timer timer(executor);
  timer.expires_at(asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return 1;
}

elastic::task<int> give(int value) { co_return value; }

}  // namespace

TEST_CASE("executor work: a task on another executor gives its result", "[base]") {
  asio::io_context context;
  const asio::any_io_executor strand = asio::make_strand(context.get_executor());
  int result = 0;
  const auto body = [&]() -> elastic::task<void> {
    result = co_await detail::run_on(strand, give(7), asio::cancellation_slot());
  };
  asio::co_spawn(context, body, asio::detached);
  context.run();
  CHECK(result == 7);
}

TEST_CASE("executor work: a task on another executor is cancelled through its slot alone",
          "[base]") {
  asio::io_context context;
  const asio::any_io_executor strand = asio::make_strand(context.get_executor());
  asio::cancellation_signal own;
  asio::cancellation_signal outer;
  std::exception_ptr failure;
  bool has_ended = false;
  const auto body = [&]() -> elastic::task<void> {
    static_cast<void>(co_await detail::run_on(strand, wait_and_give(strand), own.slot()));
  };
  detail::start_task(
      context.get_executor(), body(),
      [&](std::exception_ptr thrown) {
        failure = thrown;
        has_ended = true;
      },
      outer.slot());
  context.poll();
  outer.emit(asio::cancellation_type::terminal);
  context.poll();
  CHECK_FALSE(has_ended);
  own.emit(asio::cancellation_type::terminal);
  context.poll();
  REQUIRE(has_ended);
  CHECK_THROWS_AS(std::rethrow_exception(failure), std::system_error);
}

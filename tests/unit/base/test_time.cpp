// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The effect of a deadline on the work that it bounds, and what it does not affect.

#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {
namespace time_tests {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

task<void> work_for(manual_time& time, duration span) {
  co_await time.sleep_until(time.now() + span);
}

task<std::string> answer_after(manual_time& time, duration span) {
  co_await time.sleep_until(time.now() + span);
  co_return "answer";
}

task<void> fail_after(manual_time& time, duration span) {
  co_await time.sleep_until(time.now() + span);
  throw error(errc::connection_failed, "the other side hung up");
}

// Needs some more time to stop once it is told to.
task<void> stop_slowly(manual_time& time, duration cleanup_time, bool& has_stopped) {
  try {
    co_await time.sleep_until(time_point::max());
  } catch (const std::system_error&) {
  }
  co_await asio::this_coro::reset_cancellation_state();
  co_await time.sleep_until(time.now() + cleanup_time);
  has_stopped = true;
}

TIME_TEST("with_deadline: work that ends in time has ended by itself", "[base]") {
  const bool by_itself = co_await with_deadline(time, time.now() + 10s, work_for(time, 3s));
  CHECK(by_itself);
  CHECK(time.elapsed() == 3s);
}

TIME_TEST("with_deadline: work that does not is cancelled at the deadline", "[base]") {
  const bool by_itself = co_await with_deadline(time, time.now() + 10s, work_for(time, 1h));
  CHECK_FALSE(by_itself);
  CHECK(time.elapsed() == 10s);
}

TIME_TEST("with_deadline: has the result of work that has one, or nothing", "[base]") {
  const auto answer = co_await with_deadline(time, time.now() + 2s, answer_after(time, 1s));
  CHECK(answer == "answer");
  const auto late_answer = co_await with_deadline(time, time.now() + 1s, answer_after(time, 2s));
  CHECK_FALSE(late_answer.has_value());
}

TIME_TEST("with_deadline: no result is lost when it arrives together with the deadline", "[base]") {
  const auto answer = co_await with_deadline(time, time.now() + 5s, answer_after(time, 5s));
  CHECK(answer == "answer");
  CHECK(time.elapsed() == 5s);
}

task<std::string> answer_although_cancelled(manual_time& time) {
  bool has_stopped = false;
  co_await stop_slowly(time, 1s, has_stopped);
  co_return "late answer";
}

TIME_TEST("with_deadline: nor when the work makes it while it is being cancelled", "[base]") {
  const auto answer =
      co_await with_deadline(time, time.now() + 5s, answer_although_cancelled(time));
  CHECK(answer == "late answer");
}

TIME_TEST("with_deadline: waits until the cancelled work has ended", "[base]") {
  bool has_stopped = false;
  const bool by_itself =
      co_await with_deadline(time, time.now() + 5s, stop_slowly(time, 2s, has_stopped));
  CHECK(by_itself);
  CHECK(has_stopped);
  CHECK(time.elapsed() == 7s);
}

TIME_TEST("with_deadline: throws what the work throws, before the deadline and at it", "[base]") {
  for (const duration span : {1s, 5s}) {
    std::string message;
    try {
      co_await with_deadline(time, time.now() + 5s, fail_after(time, span));
    } catch (const error& failure) {
      message = failure.what();
    }
    CHECK(message == "the other side hung up");
  }
}

TIME_TEST("with_deadline: a deadline in the past ends work that has to wait", "[base]") {
  const bool by_itself = co_await with_deadline(time, time.now() - 1s, work_for(time, 1s));
  CHECK_FALSE(by_itself);
  CHECK(time.elapsed() == 0s);
}

task<void> do_nothing() { co_return; }

TIME_TEST("with_deadline: work that need not wait ends by itself at any deadline", "[base]") {
  const bool late_ended = co_await with_deadline(time, time.now() - 1s, do_nothing());
  CHECK(late_ended);
  const bool unbounded_ended = co_await with_deadline(time, time_point::max(), do_nothing());
  CHECK(unbounded_ended);
}

TIME_TEST("with_deadline: several branches that were all cancelled count as cancelled", "[base]") {
  const bool by_itself =
      co_await with_deadline(time, time.now() + 1s, work_for(time, 1h) && work_for(time, 2h));
  CHECK_FALSE(by_itself);
  CHECK(time.elapsed() == 1s);
}

TIME_TEST("with_deadline: of two, one in the other, the earlier one counts", "[base]") {
  auto inner = with_deadline(time, time.now() + 9s, work_for(time, 1h));
  const auto outcome = co_await with_deadline(time, time.now() + 4s, std::move(inner));
  CHECK_FALSE(outcome.has_value());
  CHECK(time.elapsed() == 4s);

  auto early_work = with_deadline(time, time.now() + 2s, work_for(time, 1h));
  const auto early_outcome = co_await with_deadline(time, time.now() + 8s, std::move(early_work));
  REQUIRE(early_outcome.has_value());
  CHECK_FALSE(*early_outcome);
  CHECK(time.elapsed() == 6s);
}

// What the caller of with_deadline may do to it from outside.
class bounded_work {
 public:
  explicit bounded_work(manual_time& time) : time_(time) {}

  void start(task<void> body) {
    asio::co_spawn(
        time_.context(), std::move(body),
        asio::bind_cancellation_slot(cancel_.slot(), [this](std::exception_ptr exception) {
          has_ended = true;
          failure = exception;
        }));
  }
  void cancel(asio::cancellation_type type) { cancel_.emit(type); }

  bool has_ended = false;
  std::exception_ptr failure;

 private:
  manual_time& time_;
  asio::cancellation_signal cancel_;
};

task<void> run_bounded(manual_time& time, duration limit, task<void> work) {
  co_await with_deadline(time, time.now() + limit, std::move(work));
}

TEST_CASE("with_deadline: a cancel of the caller ends the work and is thrown", "[base]") {
  asio::io_context context;
  manual_time time(context);
  bounded_work caller(time);
  caller.start(run_bounded(time, 10s, work_for(time, 1h)));
  time.run_for(1s);
  caller.cancel(asio::cancellation_type::terminal);
  time.run_for(0s);
  REQUIRE(caller.has_ended);
  REQUIRE(caller.failure);
  CHECK(detail::is_cancellation(caller.failure));
  CHECK(time.sleepers() == 0);
}

task<void> note_requests(manual_time& time, std::vector<asio::cancellation_type>& requests) {
  while (requests.size() < 3) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    try {
      co_await time.sleep_until(time_point::max());
    } catch (const std::system_error&) {
    }
    auto state = co_await asio::this_coro::cancellation_state;
    requests.push_back(state.cancelled());
  }
}

task<void> run_bounded_and_open(manual_time& time, std::vector<asio::cancellation_type>& requests) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await with_deadline(time, time.now() + 10s, note_requests(time, requests));
}

TEST_CASE("with_deadline: lets every request of the caller through, after the deadline too",
          "[base]") {
  asio::io_context context;
  manual_time time(context);
  bounded_work caller(time);
  std::vector<asio::cancellation_type> requests;
  caller.start(run_bounded_and_open(time, requests));
  time.run_for(1s);
  caller.cancel(asio::cancellation_type::partial);
  time.run_for(1s);
  CHECK(requests == std::vector{asio::cancellation_type::partial});
  time.run_for(10s);
  REQUIRE(requests.size() == 2);
  CHECK(requests[1] == (asio::cancellation_type::terminal | asio::cancellation_type::partial |
                        asio::cancellation_type::total));
  caller.cancel(asio::cancellation_type::terminal);
  time.run_for(0s);
  REQUIRE(requests.size() == 3);
  CHECK(requests[2] == asio::cancellation_type::terminal);
  CHECK(caller.has_ended);
}

TEST_CASE("with_deadline: the deadline stays in force if the work is deaf to a request", "[base]") {
  asio::io_context context;
  manual_time time(context);
  bounded_work caller(time);
  auto deaf_work = [](manual_time& t) -> task<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_partial_cancellation());
    // co_spawned by with_deadline with Asio's usual filter: only terminal gets through.
    co_await with_deadline(t, t.now() + 10s, t.sleep_until(time_point::max()));
  };
  caller.start(deaf_work(time));
  time.run_for(1s);
  caller.cancel(asio::cancellation_type::partial);
  time.run_for(1s);
  CHECK_FALSE(caller.has_ended);
  time.run_for(8s);
  CHECK(caller.has_ended);
}

TEST_CASE("with_deadline: can be destroyed while it waits", "[base]") {
  auto witness = std::make_shared<int>();
  {
    asio::io_context context;
    manual_time time(context);
    auto hold = [](manual_time& t, std::shared_ptr<int>) -> task<void> {
      co_await t.sleep_until(time_point::max());
    };
    bounded_work caller(time);
    caller.start(run_bounded(time, 10s, hold(time, witness)));
    time.run_for(1s);
    CHECK(witness.use_count() > 1);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE("deadline_after: a span that leads beyond all times leads to the last one", "[base]") {
  constexpr time_point now{};
  const time_point late_time = now + 1000h;
  struct span_case {
    time_point start;
    elastic::duration span;
    time_point result;
  };
  const std::vector<span_case> cases{
      {now, 0ns, now},
      {now, 5s, now + 5s},
      {late_time, -1h, now + 999h},
      {now, elastic::duration::max(), time_point::max()},
      {late_time, elastic::duration::max(), time_point::max()},
      {late_time, elastic::duration::max() - 999h, time_point::max()},
      {late_time, time_point::max() - late_time, time_point::max()},
      {late_time, time_point::max() - late_time - 1ns, time_point::max() - 1ns},
      {time_point::max(), 1ns, time_point::max()},
  };
  for (const span_case& entry : cases) {
    CAPTURE(entry.start.time_since_epoch().count(), entry.span.count());
    CHECK(elastic::deadline_after(entry.start, entry.span) == entry.result);
  }
}

CO_TEST("system_time: sleeps until the deadline and not less", "[base]") {
  system_time time;
  const time_point deadline = time.now() + 5ms;
  co_await time.sleep_until(deadline);
  CHECK(time.now() >= deadline);
}

CO_TEST("system_time: bounds what waits for an event", "[base]") {
  system_time time;
  event_flag flag(co_await asio::this_coro::executor);
  const bool by_itself = co_await with_deadline(time, time.now() + 5ms, flag.wait());
  CHECK_FALSE(by_itself);
}

}  // namespace time_tests
}  // namespace elastic::test

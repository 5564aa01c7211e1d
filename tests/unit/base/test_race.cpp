// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {
namespace race_tests {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

task<void> run_for(manual_time& time, duration span) {
  co_await time.sleep_until(time.now() + span);
}

task<void> fail_after(manual_time& time, duration span, std::string message) {
  co_await time.sleep_until(time.now() + span);
  throw std::runtime_error(message);
}

// Ends with its own error when it is cancelled.
task<void> fail_when_cancelled(manual_time& time, std::string message) {
  try {
    co_await time.sleep_until(time_point::max());
  } catch (const std::system_error&) {
    throw std::runtime_error(message);
  }
}

task<void> end_slowly_when_cancelled(manual_time& time, duration cleanup_time, bool& has_ended) {
  try {
    co_await time.sleep_until(time_point::max());
  } catch (const std::system_error&) {
  }
  co_await asio::this_coro::reset_cancellation_state();
  co_await time.sleep_until(time.now() + cleanup_time);
  has_ended = true;
}

task<std::string> outcome_of(task<std::size_t> race_task) {
  try {
    const std::size_t winner = co_await std::move(race_task);
    co_return "first is " + std::to_string(winner);
  } catch (const std::exception& failure) {
    co_return std::string(failure.what());
  }
}

TIME_TEST("race: the first to end wins and the others are cancelled", "[base]") {
  const auto outcome =
      co_await outcome_of(race(run_for(time, 3s), run_for(time, 1s), run_for(time, 2s)));
  CHECK(outcome == "first is 1");
  CHECK(time.elapsed() == 1s);
  CHECK(time.sleepers() == 0);
}

TIME_TEST("race: of two that end together the first in the list wins", "[base]") {
  const auto outcome = co_await outcome_of(race(run_for(time, 1s), run_for(time, 1s)));
  CHECK(outcome == "first is 0");
}

TIME_TEST("race: an error ends it, too", "[base]") {
  const auto outcome =
      co_await outcome_of(race(run_for(time, 3s), fail_after(time, 1s, "broke first")));
  CHECK(outcome == "broke first");
  CHECK(time.elapsed() == 1s);
}

TIME_TEST("race: an error of a later one is not lost either", "[base]") {
  const auto outcome = co_await outcome_of(
      race(run_for(time, 1s), fail_when_cancelled(time, "broke while it was stopped")));
  CHECK(outcome == "broke while it was stopped");
}

TIME_TEST("race: returns when the last one has ended", "[base]") {
  bool has_ended = false;
  const auto outcome =
      co_await outcome_of(race(run_for(time, 1s), end_slowly_when_cancelled(time, 5s, has_ended)));
  CHECK(outcome == "first is 0");
  CHECK(has_ended);
  CHECK(time.elapsed() == 6s);
}

task<void> do_nothing() { co_return; }

TIME_TEST("race: a task that need not wait wins at once", "[base]") {
  const auto outcome = co_await outcome_of(race(run_for(time, 1s), do_nothing()));
  CHECK(outcome == "first is 1");
  CHECK(time.elapsed() == 0s);
}

task<void> note_requests(manual_time& time, std::size_t count, std::vector<int>& requests) {
  while (requests.size() < count) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    try {
      co_await time.sleep_until(time_point::max());
    } catch (const std::system_error&) {
    }
    auto state = co_await asio::this_coro::cancellation_state;
    requests.push_back(static_cast<int>(state.cancelled()));
  }
}

task<void> race_with_open_filter(manual_time& time, std::vector<int>& requests) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await race(note_requests(time, 2, requests), run_for(time, 1h));
}

TEST_CASE("race: every request of the caller arrives, not only the first", "[base]") {
  asio::io_context context;
  manual_time time(context);
  asio::cancellation_signal cancel;
  std::vector<int> requests;
  bool has_ended = false;
  asio::co_spawn(
      context, race_with_open_filter(time, requests),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { has_ended = true; }));
  time.run_for(1s);
  cancel.emit(asio::cancellation_type::partial);
  time.run_for(1s);
  CHECK(requests == std::vector<int>{static_cast<int>(asio::cancellation_type::partial)});
  cancel.emit(asio::cancellation_type::terminal);
  time.run_for(1s);
  REQUIRE(requests.size() == 2);
  CHECK((requests[1] & static_cast<int>(asio::cancellation_type::terminal)) != 0);
  CHECK(has_ended);
}

TEST_CASE("is_cancellation: tells an end by cancelling from other ends", "[base]") {
  auto is_cancel = [](const auto& exception) {
    return detail::is_cancellation(std::make_exception_ptr(exception));
  };
  CHECK(is_cancel(std::system_error(asio::error::operation_aborted)));
  CHECK(is_cancel(std::system_error(std::make_error_code(std::errc::operation_canceled))));
  CHECK(is_cancel(asio::multiple_exceptions(
      std::make_exception_ptr(std::system_error(asio::error::operation_aborted)))));
  CHECK_FALSE(is_cancel(std::system_error(asio::error::connection_reset)));
  CHECK_FALSE(is_cancel(error(errc::stopped, "the store was closed")));
  CHECK_FALSE(is_cancel(std::runtime_error("something else")));
  CHECK_FALSE(
      is_cancel(asio::multiple_exceptions(std::make_exception_ptr(std::runtime_error("x")))));
}

}  // namespace race_tests
}  // namespace elastic::test

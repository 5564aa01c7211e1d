// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/waiters.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace elastic::test {

/// A clock that stands still while anything can run and then jumps to the next deadline, so that
/// hours of a simulation pass in milliseconds, and always in the same order:
///
///     asio::io_context context;
///     manual_time time(context);  // after the context, so that it is gone before it
///     const auto outcome = time.run(join(time));
///
/// Sleepers with the same deadline wake together, in the order in which they went to sleep.
/// What waits for the outside world (sockets, processes) is not waited for, unless `heed_world` was
/// called: use it for what waits for nothing but time and other coroutines. One thread.
class manual_time final : public time_source {
 public:
  explicit manual_time(asio::io_context& context)
      : context_(context), sleepers_(context.get_executor()) {}

  time_point now() const override { return start + elapsed_; }
  wall_time wall_now() const override {
    return wall_start + std::chrono::duration_cast<wall_time::duration>(elapsed_);
  }

  task<void> sleep_until(time_point deadline) override {
    return sleepers_.wait(nullptr, deadline.time_since_epoch().count());
  }

  /// How many sleep at present, those without a deadline included.
  std::size_t sleepers() const { return sleepers_.size(); }

  /// The virtual time since the clock was made.
  duration elapsed() const { return elapsed_; }

  /// From now on it stands still until nothing has happened for so long in real time: on a busy
  /// machine even what this process tells itself through a socket takes a moment.
  void heed_world(std::chrono::milliseconds quiet) { quiet_ = quiet; }

  /// Runs until nothing can run any more and nobody sleeps with a deadline.
  void run() {
    run_ready();
    while (jump(time_point::max())) run_ready();
  }

  /// Runs for so long by this clock, which then shows the end of it.
  void run_for(duration span) {
    const time_point end = now() + span;
    run_ready();
    while (jump(end)) run_ready();
    elapsed_ = end - start;
  }

  /// Runs until `work` has ended. Result, errors: its own; `std::logic_error` where it waits for
  /// something that cannot happen any more. What it left behind stays as it is.
  template <class T>
  T run(task<T> work) {
    const auto result = std::make_shared<std::optional<T>>();
    run(keep(std::move(work), result));
    return std::move(**result);
  }
  void run(task<void> work) {
    // Not on the stack: the coroutine may outlive this call where it never ends.
    const auto outcome = std::make_shared<ending>();
    asio::co_spawn(context_, std::move(work), [outcome](std::exception_ptr failure) {
      outcome->ended = true;
      outcome->failure = failure;
    });
    run_ready(outcome.get());
    while (!outcome->ended && jump(time_point::max())) run_ready(outcome.get());
    if (!outcome->ended) throw std::logic_error("it waits for what cannot happen any more");
    if (outcome->failure) std::rethrow_exception(outcome->failure);
  }

  asio::io_context& context() { return context_; }

  static constexpr time_point start{std::chrono::hours(1)};
  /// 2026-01-01 00:00:00 UTC.
  static constexpr wall_time wall_start{std::chrono::seconds(1'767'225'600)};

 private:
  struct ending {
    bool ended = false;
    std::exception_ptr failure;
  };

  template <class T>
  static task<void> keep(task<T> work, std::shared_ptr<std::optional<T>> result) {
    result->emplace(co_await std::move(work));
  }

  void run_ready(const ending* until = nullptr) {
    context_.restart();
    while (!(until && until->ended) && (context_.poll_one() != 0 || something_happens())) {
    }
  }

  bool something_happens() {
    return quiet_.count() > 0 && context_.run_one_for(quiet_) != 0;
  }

  time_point first_deadline() const { return time_point(duration(sleepers_.first_order())); }

  // Goes to the next deadline, at most to `end`, and wakes who waits for it.
  // Result: whether there was one.
  bool jump(time_point end) {
    if (sleepers_.empty()) return false;
    const time_point deadline = first_deadline();
    if (deadline > end || deadline == time_point::max()) return false;
    if (deadline > now()) elapsed_ = deadline - start;
    while (!sleepers_.empty() && first_deadline() <= now()) sleepers_.wake_first();
    return true;
  }

  asio::io_context& context_;
  duration elapsed_{0};
  std::chrono::milliseconds quiet_{0};
  ::elastic::detail::waiters sleepers_;
};

/// Runs the coroutine of a TIME_TEST; fails where something that it started is still there after
/// its end.
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

/// A test case whose body is a coroutine under virtual time, which it has as `time`:
/// `TIME_TEST("deadline: ends the work", "[base]") { co_await with_deadline(time, …); }`.
#define TIME_TEST(...) ELASTIC_TIME_TEST_COUNTED(__COUNTER__, __VA_ARGS__)
#define ELASTIC_TIME_TEST_COUNTED(number, ...) ELASTIC_TIME_TEST_NAMED(number, __VA_ARGS__)
#define ELASTIC_TIME_TEST_NAMED(number, ...)                                          \
  static ::elastic::task<void> elastic_time_test_##number(::elastic::test::manual_time& time); \
  TEST_CASE(__VA_ARGS__) { ::elastic::test::run_timed_test(&elastic_time_test_##number); } \
  static ::elastic::task<void> elastic_time_test_##number(                            \
      [[maybe_unused]] ::elastic::test::manual_time& time)

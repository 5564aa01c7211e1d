// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/scope.hpp>
#include <elastic/base/task_group.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace elastic::test {
namespace task_group_tests {

using namespace std::chrono_literals;
using story = std::vector<std::string>;

// A task with three suspension points, one second apart, that reports how it ended.
task<void> three_steps(manual_time& time, story& events, std::string name) {
  try {
    for (int count = 0; count < 3; ++count) co_await time.sleep_until(time.now() + 1s);
    events.push_back(name + " done");
  } catch (const std::system_error&) {
    events.push_back(name + " cancelled");
    throw;
  }
}

task<void> throws_after(manual_time& time, duration span, std::string message) {
  co_await time.sleep_until(time.now() + span);
  throw std::runtime_error(message);
}

task<void> throws_at_once(std::string message) {
  if (!message.empty()) throw std::runtime_error(message);
  co_return;
}

// A task that needs two seconds to end after it was cancelled, and then throws.
task<void> clean_up(manual_time& time, story& events) {
  co_await time.sleep_until(time.now() + 2s);
  events.push_back("cleaned up");
}

task<void> slow_to_end(manual_time& time, story& events, std::string message = "") {
  try {
    co_await with_cleanup(time.sleep_until(time_point::max()), clean_up(time, events));
  } catch (const std::system_error&) {
    if (message.empty()) throw;
    throw std::runtime_error(message);
  }
}

task<std::string> outcome_of(task<void> work) {
  try {
    co_await std::move(work);
    co_return "ended";
  } catch (const std::system_error& failure) {
    co_return failure.code() == asio::error::operation_aborted ? "aborted" : failure.what();
  } catch (const std::exception& failure) {
    co_return failure.what();
  }
}

TIME_TEST("task_group: waits for the last task", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  CHECK(group.empty());
  co_await group.wait();
  group.spawn(three_steps(time, events, "a"));
  group.spawn(three_steps(time, events, "b"));
  CHECK(group.size() == 2);
  co_await group.wait();
  CHECK(time.elapsed() == 3s);
  CHECK(events == story{"a done", "b done"});
  CHECK(group.empty());
}

task<void> spawn_later(manual_time& time, task_group& group, story& events) {
  co_await time.sleep_until(time.now() + 2s);
  group.spawn(three_steps(time, events, "later"));
}

TIME_TEST("task_group: waits for a task that another one spawned", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(spawn_later(time, group, events));
  co_await group.wait();
  CHECK(time.elapsed() == 5s);
  CHECK(events == story{"later done"});
}

TIME_TEST("task_group: a task that throws cancels the others, and its error is kept", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(three_steps(time, events, "a"));
  group.spawn(throws_after(time, 1s, "broke"));
  group.spawn(slow_to_end(time, events, "broke later"));
  const std::string outcome = co_await outcome_of(group.wait());
  CHECK(outcome == "broke");
  CHECK(time.elapsed() == 3s);
  CHECK(events == story{"a cancelled", "cleaned up"});
  const std::string second_outcome = co_await outcome_of(group.stop());
  CHECK(second_outcome == "broke");
}

TIME_TEST("task_group: a task that throws at once is no different", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(three_steps(time, events, "a"));
  group.spawn(throws_at_once("broke"));
  const std::string outcome = co_await outcome_of(group.wait());
  CHECK(outcome == "broke");
  CHECK(time.elapsed() == 0s);
  CHECK(group.empty());
}

/// Throws when work is to be begun, if it is told to. What Asio itself posts has to be taken: there
/// it does not bear an error.
struct unwilling_executor {
  asio::any_io_executor inner;
  const bool* refuses;

  template <class Work>
  void execute(Work&& work) const {
    inner.execute(std::forward<Work>(work));
  }
  asio::execution_context& query(asio::execution::context_t) const noexcept {
    return asio::query(inner, asio::execution::context);
  }
  unwilling_executor require(asio::execution::blocking_t::never_t) const {
    return {asio::require(inner, asio::execution::blocking.never), refuses};
  }
  unwilling_executor require(asio::execution::outstanding_work_t::tracked_t) const {
    if (*refuses) throw std::runtime_error("no room");
    return *this;
  }
  bool operator==(const unwilling_executor& other) const noexcept {
    return inner == other.inner && refuses == other.refuses;
  }
  bool operator!=(const unwilling_executor& other) const noexcept { return !(*this == other); }
};

task<void> hold(std::shared_ptr<int>) { co_return; }

TIME_TEST("task_group: work that cannot be begun is not counted, and leaves nothing", "[base]") {
  bool refuses = true;
  const unwilling_executor executor{time.context().get_executor(), &refuses};
  story events;
  task_group group(executor);
  const auto witness = std::make_shared<int>(0);
  CHECK_THROWS_WITH(group.spawn(hold(witness)), "no room");
  CHECK(group.empty());
  co_await time.sleep_until(time.now() + 1s);
  CHECK(witness.use_count() == 1);
  refuses = false;
  co_await group.wait();
  group.spawn(three_steps(time, events, "a"));
  refuses = true;
  CHECK_THROWS_WITH(group.spawn(hold(witness)), "no room");
  refuses = false;
  CHECK(group.size() == 1);
  co_await group.wait();
  CHECK(events == story{"a done"});
  CHECK(group.empty());
}

TIME_TEST("task_group: stop cancels a task at each of its suspension points", "[base]") {
  for (const duration moment : {0ms, 500ms, 1500ms, 2500ms}) {
    story events;
    task_group group(time.context().get_executor());
    group.spawn(three_steps(time, events, "a"));
    if (moment > 0s) co_await time.sleep_until(time.now() + moment);
    const time_point stop_time = time.now();
    co_await group.stop();
    CHECK(time.now() == stop_time);
    CHECK(events == story{"a cancelled"});
    CHECK(group.empty());
  }
}

TIME_TEST("task_group: stop waits for a task that is slow to end", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(slow_to_end(time, events));
  co_await time.sleep_until(time.now() + 1s);
  co_await group.stop();
  CHECK(time.elapsed() == 3s);
  CHECK(events == story{"cleaned up"});
}

TIME_TEST("task_group: an error of a task that was cancelled is kept", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(slow_to_end(time, events, "cannot clean up"));
  co_await time.sleep_until(time.now() + 1s);
  const std::string outcome = co_await outcome_of(group.stop());
  CHECK(outcome == "cannot clean up");
}

task<void> spawn_while_ending(manual_time& time, task_group& group, story& events) {
  co_await time.sleep_until(time.now() + 1s);
  group.spawn(three_steps(time, events, "late"));
  events.push_back("spawned");
}

task<void> spawn_in_cleanup(manual_time& time, task_group& group, story& events) {
  co_await with_cleanup(time.sleep_until(time_point::max()),
                        spawn_while_ending(time, group, events));
}

TIME_TEST("task_group: what is spawned during the cancel is not begun", "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(spawn_in_cleanup(time, group, events));
  co_await time.sleep_until(time.now() + 1s);
  co_await group.stop();
  CHECK(events == story{"spawned"});
  CHECK(group.empty());
  group.spawn(three_steps(time, events, "after"));
  CHECK(group.empty());
}

TIME_TEST("task_group: a request of the one that waits cancels the tasks and awaits them",
          "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(slow_to_end(time, events));
  group.spawn(three_steps(time, events, "a"));
  const bool has_ended = co_await with_deadline(time, time.now() + 1s, group.wait());
  CHECK_FALSE(has_ended);
  CHECK(time.elapsed() == 3s);
  CHECK(events == story{"a cancelled", "cleaned up"});
  CHECK(group.empty());
}

TIME_TEST("task_group: who waits and is cancelled gets the error of a task, if there is one",
          "[base]") {
  story events;
  task_group group(time.context().get_executor());
  group.spawn(slow_to_end(time, events, "cannot clean up"));
  std::string outcome;
  try {
    co_await with_deadline(time, time.now() + 1s, group.wait());
  } catch (const std::runtime_error& failure) {
    outcome = failure.what();
  }
  CHECK(outcome == "cannot clean up");
}

task<void> body_beside(manual_time& time, task_group& group, story& events, std::string failure) {
  group.spawn(slow_to_end(time, events));
  co_await time.sleep_until(time.now() + 1s);
  if (!failure.empty()) throw std::runtime_error(failure);
}

TIME_TEST("task_group: as the clean-up of a body it ends on every way out", "[base]") {
  for (const std::string failure : {"", "the body broke"}) {
    story events;
    task_group group(time.context().get_executor());
    task<void> scope = with_cleanup(body_beside(time, group, events, failure), group.stop());
    const std::string outcome = co_await outcome_of(std::move(scope));
    CHECK(outcome == (failure.empty() ? "ended" : failure));
    CHECK(events == story{"cleaned up"});
    CHECK(group.empty());
  }
  story events;
  task_group group(time.context().get_executor());
  task<void> scope = with_cleanup(body_beside(time, group, events, ""), group.stop());
  const bool has_ended = co_await with_deadline(time, time.now() + 500ms, std::move(scope));
  CHECK_FALSE(has_ended);
  CHECK(events == story{"cleaned up"});
}

TIME_TEST("task_group: its destruction has the tasks cancelled, without waiting", "[base]") {
  story events;
  {
    task_group group(time.context().get_executor());
    group.spawn(three_steps(time, events, "a"));
    co_await time.sleep_until(time.now() + 1500ms);
  }
  CHECK(events.empty());
  co_await time.sleep_until(time.now() + 1ms);
  CHECK(events == story{"a cancelled"});
}

// Owns the group that its own task runs in: whichever is destroyed last, nothing is cancelled
// through what is gone.
struct owner : std::enable_shared_from_this<owner> {
  explicit owner(asio::any_io_executor executor) : group(std::move(executor)) {}
  void start(manual_time& time) { group.spawn(run(shared_from_this(), time)); }
  static task<void> run(std::shared_ptr<owner> self, manual_time& time) {
    self->has_begun = true;
    co_await time.sleep_until(time_point::max());
  }
  task_group group;
  bool has_begun = false;
};

TEST_CASE("task_group: a context that ends destroys the tasks of a group", "[base]") {
  auto context = std::make_unique<asio::io_context>();
  auto time = std::make_unique<manual_time>(*context);
  const auto kept_owner = std::make_shared<owner>(context->get_executor());
  kept_owner->start(*time);
  auto dropped_owner = std::make_shared<owner>(context->get_executor());
  dropped_owner->start(*time);
  const std::weak_ptr<owner> weak_owner = dropped_owner;
  dropped_owner.reset();
  time->run();
  CHECK(kept_owner->has_begun);
  CHECK_FALSE(weak_owner.expired());
  time.reset();
  context.reset();
  CHECK(weak_owner.expired());
  CHECK(kept_owner.use_count() == 1);
}

}  // namespace task_group_tests
}  // namespace elastic::test

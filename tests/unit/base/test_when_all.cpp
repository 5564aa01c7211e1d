// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/when_all.hpp>

#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace elastic::test {
namespace when_all_tests {

using namespace std::chrono_literals;

// A task that takes some time, and throws at its end if it was given an error.
struct plan {
  duration span;
  std::string failure = {};
};

task<void> carry_out(manual_time& time, plan step, std::vector<std::string>& notes) {
  try {
    co_await time.sleep_until(time.now() + step.span);
  } catch (const std::system_error&) {
    notes.push_back("cancelled");
    throw;
  }
  if (!step.failure.empty()) throw std::runtime_error(step.failure);
  notes.push_back("done");
}

task<std::string> outcome_of(manual_time& time, std::vector<plan> plans,
                             std::vector<std::string>& notes) {
  std::vector<task<void>> tasks;
  for (plan& entry : plans) tasks.push_back(carry_out(time, std::move(entry), notes));
  try {
    co_await when_all(std::move(tasks));
    co_return "done";
  } catch (const std::exception& failure) {
    co_return failure.what();
  }
}

std::vector<plan> list_of(plan first, plan second, plan third) {
  return {std::move(first), std::move(second), std::move(third)};
}

using words = std::vector<std::string>;

TIME_TEST("when_all: takes as long as the longest", "[base]") {
  words notes;
  auto plans = list_of({1s}, {3s}, {2s});
  const std::string outcome = co_await outcome_of(time, std::move(plans), notes);
  CHECK(outcome == "done");
  CHECK(time.elapsed() == 3s);
  CHECK(notes == words(3, "done"));
}

TIME_TEST("when_all: of nothing is done at once", "[base]") {
  words notes;
  const std::string outcome = co_await outcome_of(time, std::vector<plan>(), notes);
  CHECK(outcome == "done");
  CHECK(time.elapsed() == 0s);
}

TIME_TEST("when_all: the first error cancels the others and is told", "[base]") {
  words notes;
  auto plans = list_of({1s}, {3s}, {2s, "broke"});
  const std::string outcome = co_await outcome_of(time, std::move(plans), notes);
  CHECK(outcome == "broke");
  CHECK(time.elapsed() == 2s);
  CHECK(notes == (words{"done", "cancelled"}));
  CHECK(time.sleepers() == 0);
}

TIME_TEST("when_all: of two that fail together the first in the list is told", "[base]") {
  words notes;
  auto plans = list_of({2s}, {1s, "one"}, {1s, "another"});
  const std::string outcome = co_await outcome_of(time, std::move(plans), notes);
  CHECK(outcome == "one");
}

TIME_TEST("when_all: a request of the caller reaches every task", "[base]") {
  words notes;
  auto plans = list_of({5s}, {6s}, {7s});
  task<std::string> work = outcome_of(time, std::move(plans), notes);
  const auto outcome = co_await with_deadline(time, time.now() + 1s, std::move(work));
  // The work ended by itself: it tells how it was cancelled.
  REQUIRE(outcome);
  CHECK_FALSE(*outcome == "done");
  CHECK(time.elapsed() == 1s);
  CHECK(notes == words(3, "cancelled"));
}

}  // namespace when_all_tests
}  // namespace elastic::test

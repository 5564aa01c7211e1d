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

// A task that takes its time, and throws at its end where it has a reason to.
struct plan {
  duration takes;
  std::string failure = {};
};

task<void> carry_out(manual_time& time, plan what, std::vector<std::string>& notes) {
  try {
    co_await time.sleep_until(time.now() + what.takes);
  } catch (const std::system_error&) {
    notes.push_back("cancelled");
    throw;
  }
  if (!what.failure.empty()) throw std::runtime_error(what.failure);
  notes.push_back("done");
}

task<std::string> outcome_of(manual_time& time, std::vector<plan> plans,
                             std::vector<std::string>& notes) {
  std::vector<task<void>> tasks;
  for (plan& one : plans) tasks.push_back(carry_out(time, std::move(one), notes));
  try {
    co_await when_all(std::move(tasks));
    co_return "done";
  } catch (const std::exception& failure) {
    co_return failure.what();
  }
}

std::vector<plan> three(plan first, plan second, plan third) {
  return {std::move(first), std::move(second), std::move(third)};
}

using words = std::vector<std::string>;

TIME_TEST("when_all: takes as long as the longest", "[base]") {
  words notes;
  auto plans = three({1s}, {3s}, {2s});
  const std::string said = co_await outcome_of(time, std::move(plans), notes);
  CHECK(said == "done");
  CHECK(time.elapsed() == 3s);
  CHECK(notes == words(3, "done"));
}

TIME_TEST("when_all: of nothing is done at once", "[base]") {
  words notes;
  const std::string said = co_await outcome_of(time, std::vector<plan>(), notes);
  CHECK(said == "done");
  CHECK(time.elapsed() == 0s);
}

TIME_TEST("when_all: the first error cancels the others and is told", "[base]") {
  words notes;
  auto plans = three({1s}, {3s}, {2s, "broke"});
  const std::string said = co_await outcome_of(time, std::move(plans), notes);
  CHECK(said == "broke");
  CHECK(time.elapsed() == 2s);
  CHECK(notes == (words{"done", "cancelled"}));
  CHECK(time.sleepers() == 0);
}

TIME_TEST("when_all: of two that fail together the first in the list is told", "[base]") {
  words notes;
  auto plans = three({2s}, {1s, "one"}, {1s, "another"});
  const std::string said = co_await outcome_of(time, std::move(plans), notes);
  CHECK(said == "one");
}

TIME_TEST("when_all: a request of the caller reaches every task", "[base]") {
  words notes;
  auto plans = three({5s}, {6s}, {7s});
  task<std::string> all = outcome_of(time, std::move(plans), notes);
  const auto said = co_await with_deadline(time, time.now() + 1s, std::move(all));
  // The work ended by itself: it tells how it was cancelled.
  REQUIRE(said);
  CHECK_FALSE(*said == "done");
  CHECK(time.elapsed() == 1s);
  CHECK(notes == words(3, "cancelled"));
}

}  // namespace when_all_tests
}  // namespace elastic::test

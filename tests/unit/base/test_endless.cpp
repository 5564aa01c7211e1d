// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/endless.hpp>

#include <elastic/base/race.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace endless_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::detail::endless;

task<void> end_at_once(bool& has_ended) {
  has_ended = true;
  co_return;
}

task<void> fail() {
  throw std::runtime_error("broken");
  co_return;
}

TIME_TEST("endless: the end of the work does not end a race", "[base]") {
  bool has_ended = false;
  const elastic::time_point began = time.now();
  task<void> work = endless(end_at_once(has_ended));
  co_await elastic::race(std::move(work), time.sleep_until(began + 3s));
  CHECK(has_ended);
  CHECK(time.now() == began + 3s);
}

TIME_TEST("endless: an error of the work ends it", "[base]") {
  bool has_failed = false;
  try {
    task<void> work = endless(fail());
    co_await std::move(work);
  } catch (const std::runtime_error&) {
    has_failed = true;
  }
  CHECK(has_failed);
}

}  // namespace endless_tests

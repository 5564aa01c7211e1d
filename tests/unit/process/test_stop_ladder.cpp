// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/process/detail/stop_ladder.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <vector>

namespace elastic {
namespace {

using namespace std::chrono_literals;

using action = detail::stop_step::action;
using target = detail::stop_step::target;

time_point ladder_time(duration since_start) { return time_point(1000s) + since_start; }

stop_plan ladder_plan(int signal, duration grace, signal_scope scope = signal_scope::group) {
  stop_plan plan;
  plan.signal = signal;
  plan.grace = grace;
  plan.scope = scope;
  return plan;
}

// A moment: what happens, and the expected step of the ladder.
struct ladder_row {
  duration at;
  std::size_t running;
  bool stop_waiting;
  action next_action;
  int signal;
  target whom = target::group;
};

void climb(stop_plan plan, const std::vector<ladder_row>& rows) {
  detail::stop_ladder ladder(plan);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const ladder_row& row = rows[i];
    const detail::stop_step step = ladder.next(row.running, ladder_time(row.at), row.stop_waiting);
    CHECK(step.what == row.next_action);
    CHECK(step.signal == row.signal);
    CHECK(step.whom == row.whom);
    CHECK_FALSE(step.reason.empty());
  }
}

TEST_CASE("stop_ladder: nothing runs, nothing is to be done", "[process]") {
  climb(ladder_plan(SIGTERM, 30s), {{0s, 0, false, action::done, 0}});
}

TEST_CASE("stop_ladder: asks, waits for the grace, kills, and waits for the end", "[process]") {
  climb(ladder_plan(SIGINT, 30s), {{0s, 3, false, action::send, SIGINT},
                                   {0s, 3, false, action::wait, 0},
                                   {10s, 2, false, action::wait, 0},
                                   {30s, 1, false, action::send, SIGKILL},
                                   {30s, 1, false, action::wait, 0},
                                   {31s, 0, false, action::done, 0}});
}

TEST_CASE("stop_ladder: a signal for processes alone reaches the others after half of the grace",
          "[process]") {
  const stop_plan plan = ladder_plan(SIGTERM, 30s, signal_scope::process);
  climb(plan, {{0s, 3, false, action::send, SIGTERM, target::process},
               {0s, 3, false, action::wait, 0},
               {14s, 2, false, action::wait, 0},
               {15s, 2, false, action::send, SIGTERM, target::others},
               {15s, 2, false, action::wait, 0},
               {30s, 1, false, action::send, SIGKILL},
               {31s, 0, false, action::done, 0}});
  detail::stop_ladder ladder(plan);
  CHECK(ladder.next(1, ladder_time(0s)).until == ladder_time(30s));
  CHECK(ladder.next(1, ladder_time(1s)).until == ladder_time(15s));
  ladder.next(1, ladder_time(15s));
  CHECK(ladder.next(1, ladder_time(15s)).until == ladder_time(30s));
}

TEST_CASE("stop_ladder: who is late for the half is killed in time, and hurry does not wait for it",
          "[process]") {
  const stop_plan plan = ladder_plan(SIGTERM, 30s, signal_scope::process);
  climb(plan, {{0s, 1, false, action::send, SIGTERM, target::process},
               {30s, 1, false, action::send, SIGKILL},
               {30s, 1, false, action::wait, 0}});
  climb(plan, {{0s, 1, false, action::send, SIGTERM, target::process},
               {1s, 1, true, action::send, SIGKILL},
               {16s, 1, true, action::wait, 0}});
}

TEST_CASE("stop_ladder: all that end within the grace are not killed", "[process]") {
  climb(ladder_plan(SIGTERM, 30s), {{0s, 2, false, action::send, SIGTERM},
                                    {1s, 1, false, action::wait, 0},
                                    {2s, 0, false, action::done, 0}});
}

TEST_CASE("stop_ladder: one deadline for all, counted from the question", "[process]") {
  detail::stop_ladder ladder(ladder_plan(SIGTERM, 30s));
  ladder.next(2, ladder_time(5s));
  CHECK(ladder.next(2, ladder_time(6s)).until == ladder_time(35s));
  CHECK(ladder.next(1, ladder_time(20s)).until == ladder_time(35s));
  CHECK(ladder.next(1, ladder_time(35s) - 1ns).what == action::wait);
  CHECK(ladder.next(1, ladder_time(35s)).signal == SIGKILL);
}

TEST_CASE("stop_ladder: hurry kills at once, and only once", "[process]") {
  climb(ladder_plan(SIGTERM, 30s), {{0s, 2, false, action::send, SIGTERM},
                                    {1s, 2, true, action::send, SIGKILL},
                                    {1s, 2, true, action::wait, 0},
                                    {2s, 0, true, action::done, 0}});
  climb(ladder_plan(SIGTERM, 30s),
        {{0s, 2, true, action::send, SIGKILL}, {0s, 2, true, action::wait, 0}});
}

TEST_CASE("stop_ladder: SIGKILL and an empty grace kill without asking", "[process]") {
  for (const stop_plan& plan :
       {ladder_plan(SIGKILL, 30s), ladder_plan(SIGTERM, 0s), ladder_plan(SIGTERM, -1s),
        ladder_plan(SIGKILL, 30s, signal_scope::process),
        ladder_plan(SIGTERM, 0s, signal_scope::process)}) {
    climb(plan, {{0s, 1, false, action::send, SIGKILL}, {0s, 1, false, action::wait, 0}});
  }
}

TEST_CASE("stop_ladder: those that were killed and do not end are looked at, again and again",
          "[process]") {
  detail::stop_ladder ladder(ladder_plan(SIGTERM, 30s), 20s);
  const std::vector<ladder_row> rows = {
      {0s, 2, false, action::send, SIGTERM}, {30s, 2, false, action::send, SIGKILL},
      {30s, 2, false, action::wait, 0},      {50s, 2, false, action::look, 0},
      {50s, 2, false, action::wait, 0},      {69s, 1, true, action::wait, 0},
      {70s, 1, false, action::look, 0},      {71s, 0, false, action::done, 0}};
  for (const ladder_row& row : rows) {
    CAPTURE(row.at.count());
    const detail::stop_step step = ladder.next(row.running, ladder_time(row.at), row.stop_waiting);
    CHECK(step.what == row.next_action);
    CHECK(step.signal == row.signal);
  }
}

TEST_CASE("stop_ladder: a grace without end does not wrap around", "[process]") {
  detail::stop_ladder ladder(ladder_plan(SIGTERM, duration::max()));
  CHECK(ladder.next(1, ladder_time(0s)).signal == SIGTERM);
  const detail::stop_step step = ladder.next(1, ladder_time(1s));
  CHECK(step.what == action::wait);
  CHECK(step.until == time_point::max());
  detail::stop_ladder alone(ladder_plan(SIGTERM, duration::max(), signal_scope::process));
  CHECK(alone.next(1, ladder_time(0s)).whom == target::process);
  CHECK(alone.next(1, ladder_time(1s)).until > ladder_time(365 * 24h));
}

}  // namespace
}  // namespace elastic

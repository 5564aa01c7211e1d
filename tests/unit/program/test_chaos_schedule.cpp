// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/chaos/chaos_schedule.hpp>

#include <elastic/cli/detail/chaos_text.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

namespace chaos_schedule_tests {

using namespace std::chrono_literals;
using chaos_plan = elastic::program_config::chaos_plan;
using elastic::detail::parse_chaos_plan;
using elasticrun::chaos_schedule;
using elasticrun::chaos_step;

// "SIGSTOP 2 at 10000", one line for each of the first `count` steps.
std::string steps_of(const std::string& plan, int count) {
  chaos_schedule schedule(parse_chaos_plan(plan));
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::optional<chaos_step> step = schedule.next();
    if (!step) break;
    text += fmt::format("{}{} {} at {}{}\n", step->signal == SIGKILL ? "KILL" : "",
                        step->signal == SIGSTOP   ? "STOP"
                        : step->signal == SIGCONT ? "CONT"
                                                  : "",
                        step->target_in(4), step->time / 1ms, step->fault.empty() ? "" : " begins");
  }
  return text;
}

TEST_CASE("chaos schedule: the signals come in the order of time", "[program]") {
  CHECK(steps_of("kill=rank:3@20s,stop=rank:2@10s+5s,kill=node:1@12s", 10) ==
        "STOP 2 at 10000 begins\n"
        "KILL 1 at 12000 begins\n"
        "CONT 2 at 15000\n"
        "KILL 3 at 20000 begins\n");
}

TEST_CASE("chaos schedule: a slow worker runs a tenth of the time, and on at the end",
          "[program]") {
  CHECK(steps_of("slow=rank:1@1s+250ms", 10) ==
        "STOP 1 at 1000 begins\n"
        "CONT 1 at 1090\n"
        "STOP 1 at 1100\n"
        "CONT 1 at 1190\n"
        "STOP 1 at 1200\n"
        "CONT 1 at 1250\n");
}

TEST_CASE("chaos schedule: a cut has a beginning and an end", "[program]") {
  chaos_schedule schedule(parse_chaos_plan("cut=node:1@2s+5s"));
  const chaos_step begin = schedule.next().value();
  CHECK(begin.what == chaos_step::action::cut);
  CHECK(begin.target == chaos_plan::fault::target::node);
  CHECK(begin.number == 1);
  CHECK(begin.time == 2s);
  CHECK(begin.end == 7s);
  CHECK(begin.fault == "cut=node:1@2s+5s");
  const chaos_step end = schedule.next().value();
  CHECK(end.what == chaos_step::action::restore);
  CHECK(end.time == begin.end);
  CHECK(end.fault.empty());
  CHECK_FALSE(schedule.next());
}

TEST_CASE("chaos schedule: random faults follow from their seed", "[program]") {
  const std::string schedule_text = steps_of("random=7@1s", 300);
  CHECK(schedule_text == steps_of("random=7@1s", 300));
  CHECK(schedule_text != steps_of("random=8@1s", 300));
  for (const char* const signal : {"KILL", "STOP", "CONT"}) {
    CHECK_THAT(schedule_text, elastic::test::contains_text(signal));
  }
  chaos_schedule schedule(parse_chaos_plan("random=7@1s"));
  std::set<int> ranks;
  int begins = 0;
  elastic::duration last_time{};
  while (begins < 200) {
    const chaos_step step = *schedule.next();
    REQUIRE(step.time >= last_time);
    last_time = step.time;
    if (step.fault.empty()) continue;
    ++begins;
    ranks.insert(step.target_in(4));
  }
  CHECK(ranks.size() == 4);
  CHECK(last_time > 150s);
  CHECK(last_time < 250s);
}

}  // namespace chaos_schedule_tests

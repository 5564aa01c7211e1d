// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/chaos_plan.hpp>
#include <elastic/launch/detail/chaos_schedule.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace chaos_tests {

using namespace std::chrono_literals;
using elastic::chaos_fault;
using elastic::chaos_plan;
using elastic::parse_chaos_plan;
using elastic::detail::chaos_schedule;
using elastic::detail::chaos_step;

TEST_CASE("chaos plan: what is written can be read", "[launch]") {
  struct row {
    const char* text;
    const char* normal_form;
  };
  for (const row& entry :
       {row{"kill=rank:3@20s", "kill=rank:3@20s"}, row{"kill=node:1@2m", "kill=node:1@120s"},
        row{"stop=rank:2@10s+5s", "stop=rank:2@10s+5s"},
        row{"slow=rank:0@1.5s+0.5h", "slow=rank:0@1500ms+1800s"},
        row{"cut=node:1@30s+10s", "cut=node:1@30s+10s"}, row{"random=7@20s", "random=7@20s"},
        row{"kill=rank:0@0s", "kill=rank:0@0s"},
        row{"kill=rank:1@1s,random=18446744073709551615@100ms,kill=rank:0@1s",
            "kill=rank:1@1s,kill=rank:0@1s,random=18446744073709551615@100ms"}}) {
    INFO(entry.text);
    const chaos_plan plan = parse_chaos_plan(entry.text);
    CHECK_FALSE(plan.empty());
    CHECK(elastic::to_text(plan) == entry.normal_form);
    CHECK(parse_chaos_plan(entry.normal_form) == plan);
  }
}

TEST_CASE("chaos plan: what is no fault is refused with what is allowed", "[launch]") {
  for (const char* const text : {"",
                                 ",",
                                 "kill",
                                 "kill=",
                                 "kill=rank",
                                 "kill=rank:",
                                 "kill=rank:1",
                                 "kill=rank:1@",
                                 "kill=rank:1@20",
                                 "kill=rank:1@20x",
                                 "kill=rank:-1@20s",
                                 "kill=rank:1@-20s",
                                 "kill=rank:1@-0s",
                                 "kill=rank:1@nans",
                                 "kill=rank:1@1e3s",
                                 "kill=rank:1@1001h",
                                 "kill=rank:1@1s+1s",
                                 "kill=rank:99999999999@1s",
                                 "kill=host:1@1s",
                                 "kill=rank:1@1s,",
                                 "stop=rank:1@1s",
                                 "stop=rank:1@1s+0s",
                                 "stop=node:1@1s+1s",
                                 "slow=rank:1@1s",
                                 "hang=rank:1@1s",
                                 "random=7",
                                 "random=x@1s",
                                 "random=7@0s",
                                 "random=7@10ms",
                                 "random=-1@1s",
                                 "random=1@1s,random=2@1s",
                                 " kill=rank:1@1s",
                                 "cut=node:1@1s",
                                 "cut=node:1@1s+0s",
                                 "cut=rank:1@1s+1s",
                                 "cut=node:-1@1s+1s",
                                 "cut=node:1@1s+1001h"}) {
    INFO(text);
    try {
      parse_chaos_plan(text);
      FAIL_CHECK("accepted");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::invalid_argument);
      const std::string sentence = failure.what();
      CHECK_THAT(sentence, elastic::test::contains_text("allowed"));
      CHECK(sentence.find('\n') == sentence.npos);
    }
  }
  try {
    parse_chaos_plan("kil=rank:1@1s");
    FAIL_CHECK("accepted");
  } catch (const elastic::error& failure) {
    CHECK_THAT(failure.what(), elastic::test::contains_text("'kil=rank:1@1s': did you mean kill?"));
  }
  std::string long_plan = "kill=rank:0@1s";
  for (int i = 0; i < 1000; ++i) long_plan += ",kill=rank:0@1s";
  CHECK_THROWS_AS(parse_chaos_plan(long_plan), elastic::error);
}

TEST_CASE("chaos plan: says what a world has not", "[launch]") {
  const chaos_plan plan =
      parse_chaos_plan("kill=rank:1@1s,kill=rank:2@1s,kill=rank:2@5s,cut=node:1@1s+1s,random=1@1s");
  CHECK(elastic::missing_targets(plan, 3, 2).empty());
  CHECK(elastic::missing_targets(plan, 2, 1) == "node 1, rank 2");
}

// "SIGSTOP 2 at 10000", one line for each of so many steps.
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
                        step->target_in(4), step->at / 1ms, step->fault.empty() ? "" : " begins");
  }
  return text;
}

TEST_CASE("chaos schedule: the signals come in the order of time", "[launch]") {
  CHECK(steps_of("kill=rank:3@20s,stop=rank:2@10s+5s,kill=node:1@12s", 10) ==
        "STOP 2 at 10000 begins\n"
        "KILL 1 at 12000 begins\n"
        "CONT 2 at 15000\n"
        "KILL 3 at 20000 begins\n");
}

TEST_CASE("chaos schedule: a slow worker runs a tenth of the time, and on at the end", "[launch]") {
  CHECK(steps_of("slow=rank:1@1s+250ms", 10) ==
        "STOP 1 at 1000 begins\n"
        "CONT 1 at 1090\n"
        "STOP 1 at 1100\n"
        "CONT 1 at 1190\n"
        "STOP 1 at 1200\n"
        "CONT 1 at 1250\n");
}

TEST_CASE("chaos schedule: a cut has a beginning and an end", "[launch]") {
  chaos_schedule schedule(parse_chaos_plan("cut=node:1@2s+5s"));
  const chaos_step begin = schedule.next().value();
  CHECK(begin.what == chaos_step::act::cut);
  CHECK(begin.of == chaos_fault::target::node);
  CHECK(begin.number == 1);
  CHECK(begin.at == 2s);
  CHECK(begin.until == 7s);
  CHECK(begin.fault == "cut=node:1@2s+5s");
  const chaos_step end = schedule.next().value();
  CHECK(end.what == chaos_step::act::mend);
  CHECK(end.at == begin.until);
  CHECK(end.fault.empty());
  CHECK_FALSE(schedule.next());
}

TEST_CASE("chaos schedule: random faults follow from their seed", "[launch]") {
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
    REQUIRE(step.at >= last_time);
    last_time = step.at;
    if (step.fault.empty()) continue;
    ++begins;
    ranks.insert(step.target_in(4));
  }
  CHECK(ranks.size() == 4);
  CHECK(last_time > 150s);
  CHECK(last_time < 250s);
}

}  // namespace chaos_tests

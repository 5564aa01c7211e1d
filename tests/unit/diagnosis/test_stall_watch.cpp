// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/stall_watch.hpp>

#include <elastic/diagnosis/detail/stall_judge.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace stall_watch_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::rank_evidence;
using elastic::detail::stall_look;
using elastic::detail::stall_verdict;
using elastic::detail::stall_watch;
using elastic::detail::stall_watch_options;

constexpr time_point start{1000s};

TEST_CASE("a look comes after thirty seconds, or five times the longest step", "[diagnosis]") {
  stall_watch watch({}, start);
  CHECK(watch.wake_at() == start + 30s);
  watch.step(0, start + 10s);
  CHECK(watch.wake_at() == start + 40s);
  watch.step(1, start + 20s);
  CHECK(watch.patience() == 50s);
  CHECK_FALSE(watch.wants_look(start + 69s));
  CHECK(watch.wants_look(start + 70s));
  watch.step(1, start + 60s);  // is not progress
  watch.step(0, start + 60s);
  CHECK(watch.wake_at() == start + 70s);
}

TEST_CASE("a job is stalled once, until it goes on", "[diagnosis]") {
  stall_watch watch({}, start);
  watch.step(0, start);
  CHECK_FALSE(watch.looked({.longest_wait = 29s}, start + 30s));
  CHECK_FALSE(watch.is_stalled());
  CHECK(watch.wake_at() == start + 45s);  // the operation may come to last 30 s, but no two looks
                                          // are closer than half of that
  CHECK(watch.looked({.longest_wait = 44s}, start + 45s));
  CHECK(watch.is_stalled());
  CHECK(watch.wake_at() == time_point::max());
  CHECK_FALSE(watch.looked({.longest_wait = 60s}, start + 60s));
  CHECK(watch.step(1, start + 600s));
  CHECK_FALSE(watch.is_stalled());
  CHECK(watch.patience() == 30s);  // the stall was no long step
  CHECK_FALSE(watch.step(2, start + 601s));
  CHECK(watch.wake_at() == start + 631s);
}

TEST_CASE("a stall has lasted since the last step, or since the operation that waits",
          "[diagnosis]") {
  struct row {
    std::optional<duration> stepped_at;
    stall_look look;
    duration stalled_since;
  };
  const std::vector<row> rows{
      {10s, {{}, true}, 10s},      // without recorders
      {10s, {35s, false}, 15s},    // computed first, then waited
      {20s, {45s, false}, 20s},    // an operation that others began before the step
      {{}, {31s, false}, 19s},     // no steps
      {{}, {{}, true}, 50s},       // nothing tells
  };
  for (const row& each : rows) {
    CAPTURE(&each - rows.data());
    stall_watch watch({.stall_after = 30s}, start);
    if (each.stepped_at) watch.step(1, start + *each.stepped_at);
    REQUIRE(watch.looked(each.look, start + 50s));
    CHECK(watch.stalled_since() == start + each.stalled_since);
  }
}

TEST_CASE("what a look shows", "[diagnosis]") {
  struct row {
    stall_look look;
    bool has_stepped;
    std::optional<duration> stall_after;
    bool is_stall;
  };
  const std::vector<row> rows{
      {{30s, false}, false, {}, true},  // ranks that spin in a collective
      {{29s, true}, true, {}, false},
      {{0s, true}, true, {}, false},    // all sleep, and nobody waits in an operation
      {{{}, true}, true, {}, true},     // without recorders
      {{{}, false}, true, {}, false},   // they compute
      {{{}, true}, false, {}, false},   // they may load their data
      {{{}, true}, false, 30s, true},
      {{10s, true}, false, 10s, true},
      {{9s, true}, true, 10s, false},
  };
  for (const row& each : rows) {
    CAPTURE(&each - rows.data());
    stall_watch watch({.stall_after = each.stall_after}, start);
    if (each.has_stepped) watch.step(0, start);
    CHECK(watch.looked(each.look, start + 30s) == each.is_stall);
  }
}

TEST_CASE("a time that the user gave is exact, and looks are half of it apart", "[diagnosis]") {
  stall_watch watch({.stall_after = 10s}, start);
  watch.step(0, start);
  watch.step(1, start + 100s);
  CHECK(watch.patience() == 10s);
  CHECK(watch.wake_at() == start + 110s);
  CHECK_FALSE(watch.looked({.longest_wait = 9900ms}, start + 110s));
  CHECK(watch.wake_at() == start + 115s);
  CHECK_FALSE(watch.looked({.longest_wait = 0s}, start + 115s));
  CHECK(watch.wake_at() == start + 125s);
}

/// A day of a job, of which each step takes so long. Counts the looks, and what they found.
struct day {
  int looks = 0;
  int stalls = 0;
  int wakes = 0;
};

template <class StepTime>
day live(const stall_watch_options& options, StepTime step_time, duration longest_wait) {
  day passed;
  stall_watch watch(options, start);
  time_point now = start;
  for (std::int64_t step = 0; now < start + 24h; ++step) {
    const time_point ends = now + step_time(step);
    // The caller's timer, which it sets again only when it has fired.
    for (time_point timer = watch.wake_at(); timer < ends; timer = watch.wake_at()) {
      ++passed.wakes;
      if (!watch.wants_look(timer)) continue;
      ++passed.looks;
      if (watch.looked({.longest_wait = longest_wait}, timer)) ++passed.stalls;
    }
    now = ends;
    watch.step(step, now);
  }
  return passed;
}

TEST_CASE("a day of training is not disturbed", "[diagnosis]") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0.0, 0.3);
  const auto seconds = [](double value) {
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
  };
  SECTION("steps of a second") {
    const day passed = live({}, [&](std::int64_t) { return seconds(noise(random)); }, 0s);
    CHECK(passed.looks == 0);
  }
  SECTION("with a checkpoint of twenty seconds now and then") {
    const auto time = [&](std::int64_t step) {
      return seconds(noise(random) + (step % 1000 == 999 ? 20 : 0));
    };
    CHECK(live({}, time, 0s).looks == 0);
  }
  SECTION("steps that become slower and slower") {
    const auto time = [&](std::int64_t step) {
      return seconds(noise(random) * (1 + static_cast<double>(step) / 500));
    };
    CHECK(live({}, time, 0s).looks == 0);
  }
  SECTION("validation of ten minutes: looks, but no stall while ranks wait for seconds") {
    const auto time = [&](std::int64_t step) {
      return step % 2000 == 1999 ? duration(600s) : seconds(noise(random));
    };
    const day passed = live({}, time, 5s);
    CHECK(passed.looks > 0);
    CHECK(passed.looks < 100);
    CHECK(passed.stalls == 0);
  }
  SECTION("a look is at most each N/2 where the user gave N") {
    const day passed = live({.stall_after = 10s}, [&](std::int64_t) { return 1h; }, 0s);
    CHECK(passed.stalls == 0);
    CHECK(passed.looks <= 24 * 3600 / 5);
  }
}

TEST_CASE("a slow rank is not a hung one, however often somebody looks", "[diagnosis]") {
  // One of eight computes for 40 to 200 s a step, and the others wait for it.
  std::mt19937_64 random(11);
  std::uniform_int_distribution<int> wait(3, 160);
  for (int look = 0; look < 2000; ++look) {
    std::vector<rank_evidence> ranks(8);
    for (int rank = 0; rank < 8; ++rank) {
      rank_evidence& evidence = ranks[static_cast<std::size_t>(rank)];
      evidence.rank = rank;
      evidence.recorder = elastic::detail::recorder_state::answered;
      evidence.state = elastic::detail::process_state::sleeping;
      evidence.groups = {{"0", "default_pg", {}, 9, 9, {}}};
      if (rank == look % 8) {
        evidence.state = elastic::detail::process_state::running;
        evidence.processor_share = 0.9;
        evidence.stack_moved = true;
        continue;
      }
      evidence.groups[0].enqueued = 10;
      evidence.groups[0].outstanding = {"all_reduce", 10, "[[4]]", "Float", {}, false,
                                        std::chrono::seconds(wait(random))};
    }
    const elastic::detail::stall_verdict verdict = elastic::detail::judge_stall(ranks);
    REQUIRE(verdict.cause == stall_verdict::kind::slow);
    REQUIRE(verdict.ranks == std::vector<int>{look % 8});
  }
}

}  // namespace stall_watch_tests

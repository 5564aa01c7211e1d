// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/control/detail/worker_liveness.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>

namespace worker_liveness_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::liveness_settings;
using elastic::time_point;
using elastic::detail::learned_timeouts;
using elastic::detail::worker_liveness;

/// A worker that has just started, at the time 0.
struct stage {
  explicit stage(liveness_settings worker_settings = {})
      : settings(worker_settings), timeouts(worker_settings), liveness(worker_settings, timeouts) {
    liveness.start(now);
  }

  void pass(duration span) { now += span; }
  void beat(std::optional<duration> timeout = std::nullopt) { liveness.beat(now, timeout); }
  bool is_due() const { return liveness.next_expiry() <= now; }
  /// Why it is hung; empty if it is not.
  std::string verdict() const {
    const auto judgement = liveness.judge(now);
    return judgement ? judgement->reason : std::string();
  }
  /// So long from now on until something is due; none if nothing is.
  std::optional<duration> remaining() const {
    if (liveness.next_expiry() == time_point::max()) return std::nullopt;
    return liveness.next_expiry() - now;
  }

  liveness_settings settings;
  learned_timeouts timeouts;
  time_point now{1h};
  worker_liveness liveness;
};

liveness_settings beats_within(duration timeout) {
  liveness_settings settings;
  settings.heartbeat_timeout = timeout;
  return settings;
}

TEST_CASE("liveness: nothing is expected of a worker that was promised nothing", "[control]") {
  stage stage;
  stage.pass(24h);
  CHECK(stage.verdict().empty());
  CHECK_FALSE(stage.remaining());
  stage.beat();
  CHECK_FALSE(stage.remaining());
}

TEST_CASE("liveness: if no rule counts, the worker's own do not either", "[control]") {
  liveness_settings settings = beats_within(duration::max());
  settings.first_heartbeat_timeout = 1s;
  settings.learn_timeouts = 2;
  stage stage(settings);
  stage.pass(24h);
  stage.beat(1s);
  CHECK(stage.liveness.enter(stage.now, "collective", 1s));
  CHECK(stage.liveness.arm(stage.now, "scope", 1s, SIGKILL));
  stage.pass(24h);
  CHECK(stage.verdict().empty());
  CHECK_FALSE(stage.remaining());
}

TEST_CASE("liveness: heartbeats are expected from the first one on", "[control]") {
  stage stage(beats_within(10s));
  stage.pass(1h);
  CHECK_FALSE(stage.remaining());
  stage.beat();
  CHECK(stage.remaining() == 10s);
  stage.pass(9s);
  stage.beat();
  CHECK(stage.remaining() == 10s);
  stage.pass(10s - 1ns);
  CHECK(stage.verdict().empty());
  stage.pass(2300ms);
  CHECK(stage.verdict() == "no heartbeat for 12.3 s (allowed 10 s)");
}

TEST_CASE("liveness: the first heartbeat may be due, too", "[control]") {
  liveness_settings settings;
  settings.first_heartbeat_timeout = 60s;
  stage stage(settings);
  CHECK(stage.remaining() == 60s);
  stage.pass(60s);
  CHECK(stage.verdict() == "no heartbeat since its start 60 s ago (allowed 60 s)");
  stage.beat();
  CHECK_FALSE(stage.remaining());
}

TEST_CASE("liveness: what the worker names itself comes before the settings", "[control]") {
  stage stage(beats_within(10s));
  stage.beat(2s);
  CHECK(stage.remaining() == 2s);
  stage.pass(1s);
  stage.beat();
  CHECK(stage.remaining() == 2s);
}

TEST_CASE("liveness: a section without a time-out says where a worker hangs", "[control]") {
  stage stage(beats_within(10s));
  stage.beat();
  stage.pass(5s);
  stage.liveness.enter(stage.now, "all_reduce", std::nullopt);
  CHECK(stage.remaining() == 10s);
  stage.pass(10s);
  CHECK(stage.verdict() == "no heartbeat for 10 s (allowed 10 s) in section 'all_reduce'");
  stage.liveness.leave(stage.now, "all_reduce");
  CHECK(stage.remaining() == 10s);
}

TEST_CASE("liveness: times below a second are said as they are", "[control]") {
  struct row {
    std::chrono::microseconds span;
    std::string text;
  };
  for (const row& entry : {row{0s, "0 s"}, row{4ms, "0.004 s"}, row{50ms, "0.05 s"},
                           row{123ms, "0.12 s"}, row{1s, "1 s"}, row{1234ms, "1.2 s"},
                           row{300s, "300 s"}}) {
    CHECK(elastic::detail::worker_liveness::text_of(entry.span) == entry.text);
  }
  stage stage(beats_within(10s));
  stage.liveness.enter(stage.now, "s1", 20ms);
  stage.pass(25ms);
  CHECK(stage.verdict() == "section 's1' took 0.025 s (allowed 0.02 s)");
}

TEST_CASE("liveness: a section with a time-out takes the place of heartbeats", "[control]") {
  stage stage(beats_within(10s));
  stage.beat();
  stage.liveness.enter(stage.now, "save", 300s);
  stage.pass(299s);
  CHECK(stage.verdict().empty());
  stage.beat();
  CHECK(stage.remaining() == 1s);
  stage.pass(2s);
  CHECK(stage.verdict() == "section 'save' took 301 s (allowed 300 s)");
  stage.liveness.leave(stage.now, "save");
  CHECK(stage.remaining() == 10s);
}

TEST_CASE("liveness: a section is watched without any heartbeat", "[control]") {
  stage stage;
  stage.liveness.enter(stage.now, "load", 5s);
  CHECK(stage.remaining() == 5s);
  stage.liveness.leave(stage.now, "load");
  CHECK_FALSE(stage.remaining());
  stage.liveness.leave(stage.now, "never entered");
  CHECK_FALSE(stage.remaining());
}

TEST_CASE("liveness: sections nest, and one that is entered again begins anew", "[control]") {
  stage stage;
  stage.liveness.enter(stage.now, "epoch", 100s);
  stage.liveness.enter(stage.now, "step", 5s);
  CHECK(stage.remaining() == 5s);
  stage.pass(4s);
  stage.liveness.enter(stage.now, "step", 5s);
  CHECK(stage.remaining() == 5s);
  stage.liveness.leave(stage.now, "step");
  CHECK(stage.remaining() == 96s);
}

TEST_CASE("liveness: sections and timers are bounded", "[control]") {
  stage stage;
  int sections = 0;
  while (sections < 10'000 &&
         stage.liveness.enter(stage.now, "s" + std::to_string(sections), std::nullopt)) {
    ++sections;
  }
  CHECK(sections == static_cast<int>(elastic::limits::worker_sections));
  int timers = 0;
  while (timers < 10'000 && stage.liveness.arm(stage.now, std::to_string(timers), 1s)) ++timers;
  CHECK(timers == static_cast<int>(elastic::limits::worker_timers));
  CHECK(stage.liveness.arm(stage.now, "0", 2s));
}

TEST_CASE("liveness: a timer expires unless it is released", "[control]") {
  stage stage;
  stage.liveness.arm(stage.now, "step #1", 2500ms);
  stage.liveness.arm(stage.now, "step #2", 1h, SIGTERM);
  CHECK(stage.remaining() == 2500ms);
  stage.pass(3s);
  CHECK(stage.verdict() == "timer 'step #1' expired after 2.5 s");
  CHECK(stage.liveness.judge(stage.now)->signal == SIGKILL);
  stage.liveness.release("step #1");
  CHECK(stage.remaining() == 1h - 3s);
  stage.pass(1h);
  CHECK(stage.liveness.judge(stage.now)->signal == SIGTERM);
}

TEST_CASE("liveness: a timer said again starts anew", "[control]") {
  stage stage;
  stage.liveness.arm(stage.now, "t", 2s);
  stage.pass(1s);
  stage.liveness.arm(stage.now, "t", 2s);
  CHECK(stage.remaining() == 2s);
}

TEST_CASE("liveness: of several that are over, the first is named", "[control]") {
  stage stage(beats_within(10s));
  stage.beat();
  stage.liveness.arm(stage.now, "t", 9s);
  stage.pass(1h);
  CHECK(stage.verdict() == "timer 't' expired after 9 s");
}

TEST_CASE("liveness: clocks stand still while a worker is paused", "[control]") {
  stage stage(beats_within(10s));
  stage.beat();
  stage.liveness.arm(stage.now, "t", 30s);
  stage.pass(4s);
  stage.liveness.pause(stage.now);
  stage.liveness.pause(stage.now);
  stage.pass(1h);
  CHECK(stage.verdict().empty());
  CHECK_FALSE(stage.remaining());
  stage.liveness.resume(stage.now);
  stage.liveness.resume(stage.now);
  CHECK(stage.remaining() == 6s);
  stage.beat();
  CHECK(stage.remaining() == 10s);
  stage.pass(9s);
  stage.beat();
  stage.pass(9s);
  stage.beat();
  CHECK(stage.remaining() == 8s);
}

TEST_CASE("liveness: after a watch that stood still, everything has its whole time", "[control]") {
  stage stage(beats_within(10s));
  stage.beat();
  stage.liveness.enter(stage.now, "save", 20s);
  stage.liveness.arm(stage.now, "t", 30s);
  stage.pass(1h);
  stage.liveness.renew(stage.now);
  CHECK(stage.remaining() == 20s);
  stage.liveness.leave(stage.now, "save");
  CHECK(stage.remaining() == 10s);
  stage.beat(1h);
  CHECK(stage.remaining() == 30s);
}

TEST_CASE("liveness: nothing is due after the end, and a new start knows nothing of before",
          "[control]") {
  stage stage(beats_within(10s));
  stage.beat(1s);
  stage.liveness.arm(stage.now, "t", 1s);
  stage.liveness.end();
  CHECK_FALSE(stage.remaining());
  stage.pass(1h);
  CHECK(stage.verdict().empty());
  stage.liveness.start(stage.now);
  CHECK_FALSE(stage.remaining());
  stage.beat();
  CHECK(stage.remaining() == 10s);
}

// ---- what is learned ---------------------------------------------------------------------------

liveness_settings learning_settings(double factor) {
  liveness_settings settings;
  settings.learn_timeouts = factor;
  return settings;
}

TEST_CASE("liveness: the longest time between heartbeats times the factor is learned",
          "[control]") {
  stage stage(learning_settings(3));
  stage.beat();
  for (const duration span : {1s, 2s, 4s, 1s}) {
    stage.pass(span);
    stage.beat();
    CHECK_FALSE(stage.remaining());
  }
  stage.pass(1s);
  stage.beat();
  CHECK(stage.remaining() == 12s);
  stage.pass(12s);
  CHECK(stage.verdict() == "no heartbeat for 12 s (allowed 12 s)");
}

TEST_CASE("liveness: what one attempt has learned counts for the next, and for other workers",
          "[control]") {
  stage stage(learning_settings(2));
  for (int i = 0; i <= learned_timeouts::enough; ++i) {
    stage.beat();
    stage.pass(5s);
  }
  stage.liveness.start(stage.now);
  stage.beat();
  CHECK(stage.remaining() == 10s);
  worker_liveness second_worker(stage.settings, stage.timeouts);
  second_worker.start(stage.now);
  second_worker.beat(stage.now);
  CHECK(second_worker.next_expiry() == stage.now + 10s);
}

TEST_CASE("liveness: the durations of each section are learned by its name", "[control]") {
  stage stage(learning_settings(2));
  for (int i = 0; i < learned_timeouts::enough; ++i) {
    stage.liveness.enter(stage.now, "save", std::nullopt);
    CHECK_FALSE(stage.remaining());
    stage.pass(30s);
    stage.liveness.leave(stage.now, "save");
  }
  stage.liveness.enter(stage.now, "other", std::nullopt);
  CHECK_FALSE(stage.remaining());
  stage.liveness.enter(stage.now, "save", std::nullopt);
  CHECK(stage.remaining() == 60s);
  stage.liveness.enter(stage.now, "save", 10s);
  CHECK(stage.remaining() == 10s);
}

TEST_CASE("liveness: what is learned is never less than the least", "[control]") {
  stage stage(learning_settings(2));
  for (int i = 0; i <= learned_timeouts::enough; ++i) {
    stage.pass(1ms);
    stage.beat();
  }
  CHECK(stage.remaining() == 1s);
}

TEST_CASE("liveness: time in a section with a time-out, or paused, is none between heartbeats",
          "[control]") {
  stage stage(learning_settings(2));
  stage.beat();
  stage.liveness.enter(stage.now, "save", 1h);
  stage.pass(30min);
  stage.beat();
  stage.liveness.leave(stage.now, "save");
  stage.liveness.pause(stage.now);
  stage.pass(30min);
  stage.liveness.resume(stage.now);
  for (int i = 0; i < learned_timeouts::enough; ++i) {
    stage.pass(2s);
    stage.beat();
  }
  CHECK(stage.remaining() == 4s);
}

TEST_CASE("liveness: a boundless number of sections teaches a bounded number of names",
          "[control]") {
  learned_timeouts timeouts(learning_settings(2));
  for (int i = 0; i < 100'000; ++i) {
    for (int times = 0; times < learned_timeouts::enough; ++times) {
      timeouts.observe("section " + std::to_string(i), 1s);
    }
  }
  CHECK(timeouts.of("section 0"));
  CHECK_FALSE(timeouts.of("section 99999"));
}

TEST_CASE("liveness: times beyond all bounds are no trouble", "[control]") {
  stage stage(learning_settings(1e6));
  stage.liveness.arm(stage.now, "t", duration::max());
  CHECK_FALSE(stage.remaining());
  stage.liveness.enter(stage.now, "s", duration::max());
  CHECK_FALSE(stage.remaining());
  stage.beat(duration::max());
  CHECK_FALSE(stage.remaining());
  for (int i = 0; i < learned_timeouts::enough; ++i) stage.timeouts.observe("heartbeat", 100h);
  CHECK(stage.timeouts.of("heartbeat") == duration(24h * 365));
  stage.liveness.renew(stage.now);
  CHECK_FALSE(stage.remaining());
}

TEST_CASE("liveness: whatever happens, the verdict comes exactly when something is due",
          "[control]") {
  elastic::detail::random_source random(7);
  for (int round = 0; round < 200; ++round) {
    liveness_settings settings;
    settings.heartbeat_timeout = std::chrono::seconds(random.below(3) * 5);
    settings.first_heartbeat_timeout = std::chrono::seconds(random.below(2) * 20);
    settings.learn_timeouts = static_cast<double>(random.below(3));
    stage stage(settings);
    for (int step = 0; step < 100; ++step) {
      const std::string name = std::to_string(random.below(3));
      const auto timeout = random.below(2) == 0
                               ? std::nullopt
                               : std::optional<duration>(std::chrono::seconds(random.below(9)));
      switch (random.below(8)) {
        case 0: stage.beat(timeout); break;
        case 1: stage.liveness.enter(stage.now, name, timeout); break;
        case 2: stage.liveness.leave(stage.now, name); break;
        case 3: stage.liveness.arm(stage.now, name, timeout.value_or(1s)); break;
        case 4: stage.liveness.release(name); break;
        case 5: stage.liveness.pause(stage.now); break;
        case 6: stage.liveness.resume(stage.now); break;
        default: stage.pass(std::chrono::milliseconds(random.below(5000)));
      }
      REQUIRE(stage.is_due() == !stage.verdict().empty());
    }
  }
}

}  // namespace worker_liveness_tests

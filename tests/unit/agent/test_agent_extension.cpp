// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When an agent calls its extension, and what the extension can delay.

#include <elastic/agent/agent_extension.hpp>
#include <elastic/base/race.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace agent_extension_test {

using namespace std::chrono_literals;
using test::agent_stage;

/// How the extension behaves, and what has become of it.
struct script {
  std::shared_ptr<std::vector<std::string>> notes;
  agent_extension::context context = {};
  duration join = duration::zero();
  duration stop = duration::zero();
  time_point ready_at = time_point::max();
  bool fails_to_prepare = false;
  bool fails_to_close = false;
  int alive = 0;
};

/// Notes its calls beside those of launcher and rendezvous.
class recorder final : public agent_extension {
 public:
  explicit recorder(std::shared_ptr<script> plan) : plan_(std::move(plan)) { ++plan_->alive; }
  ~recorder() override { --plan_->alive; }

  duration join_delay() override { return plan_->join; }
  duration stop_delay(const rendezvous_change&) override { return plan_->stop; }
  task<void> until_ready() override {
    note("wait");
    co_await plan_->context.time->sleep_until(plan_->ready_at);
  }
  task<void> prepare_attempt() override {
    note("prepare");
    if (plan_->fails_to_prepare) throw std::runtime_error("the extension is broken");
    co_return;
  }
  void begin_attempt(const rendezvous_round&) override { note("begin"); }
  std::optional<worker_starts> starts() const override {
    worker_starts counted;
    counted.warm = 2;
    return counted;
  }
  task<void> beside_workers(bool may_restart) override {
    note(may_restart ? "beside workers" : "beside the last workers");
    co_return;
  }
  void end_attempt() override { note("end of attempt"); }
  task<void> close() override {
    note("closed");
    if (plan_->fails_to_close) throw std::runtime_error("the extension is stuck");
    co_return;
  }

 private:
  void note(const std::string& call) { plan_->notes->push_back(call); }

  std::shared_ptr<script> plan_;
};

struct extended_stage : agent_stage {
  explicit extended_stage(test::manual_time& clock) : agent_stage(clock) {
    workers.nproc_per_node = 1;
    workers.max_restarts = 1;
    extension = [plan = plan](agent_extension::context context) {
      plan->context = std::move(context);
      return std::make_unique<recorder>(plan);
    };
  }
  std::shared_ptr<script> plan = std::make_shared<script>(script{launcher->notes});
};

TIME_TEST("agent_extension: the agent calls it around each attempt", "[agent]") {
  extended_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.story() ==
        "round 0, prepare, begin, start 0, beside workers, end 0: exit code 1, "
        "end of attempt, gone 0, round 1, prepare, begin, start 1, beside the last workers, "
        "end 1: exit code 0, gone 1, closed, close, shutdown");
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().starts.warm == 4);
  CHECK(stage.plan->alive == 0);
  CHECK(stage.is_clean());
}

/// Equips the workers when it knows their ranks.
class outfitter final : public agent_extension {
 public:
  explicit outfitter(std::shared_ptr<std::vector<std::string>> notes) : notes_(std::move(notes)) {}

  task<void> agree(rendezvous_round round, assigned_ranks ranks) override {
    notes_->push_back("agree on ranks from " + std::to_string(ranks.base_rank) + " in round " +
                      std::to_string(round.round));
    round_ = round.round;
    co_return;
  }
  void change_environment(const worker_identity& worker, environment_map& variables) override {
    variables.erase("OUTER");
    variables["PLACE"] = std::to_string(round_) + "/" + std::to_string(worker.rank);
    variables["CHOSEN"] = "by the extension";
  }
  int passed_descriptor(int local_rank) override { return 100 + local_rank; }

 private:
  std::shared_ptr<std::vector<std::string>> notes_;
  std::int64_t round_ = -1;
};

TIME_TEST("agent_extension: it equips the workers of each round", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.workers.environment = {{"OUTER", "1"}};
  stage.workers.env = {{"CHOSEN", "by the user"}};
  stage.extension = [notes = stage.launcher->notes](agent_extension::context context) {
    CHECK(context.local_world_size == 2);
    return std::make_unique<outfitter>(notes);
  };
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  CHECK(stage.story().starts_with(
      "round 0, agree on ranks from 0 in round 0, start 0, start 1, end 0: exit code 1"));
  CHECK(stage.story().find("round 1, agree on ranks from 0 in round 1, start 2, start 3") !=
        std::string::npos);
  CHECK(stage.worker(1).variable("PLACE") == "0/1");
  CHECK(stage.worker(3).variable("PLACE") == "1/1");
  CHECK(stage.worker(3).variable("OUTER") == "<not set>");
  CHECK(stage.worker(3).variable("CHOSEN") == "by the user");
  CHECK(stage.worker(3).spec.passed_fd == 101);
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
}

TIME_TEST("agent_extension: it lends what the agent works with", "[agent]") {
  extended_stage stage(time);
  stage.job_may_grow = true;
  stage.start();
  co_await stage.quiet();
  const agent_extension::context& context = stage.plan->context;
  CHECK(context.job_may_grow);
  CHECK(context.launcher == stage.launcher);
  const std::vector<process_spec> expected = context.first_workers();
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].program == stage.workers.program);
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent_extension: it delays the first round until it is ready, or for its time",
          "[agent]") {
  extended_stage stage(time);
  stage.plan->join = 10s;
  duration waited = 10s;
  SECTION("ready") {
    waited = 4s;
    stage.plan->ready_at = time.now() + waited;
  }
  SECTION("not ready in time") {}
  stage.start();
  co_await stage.pass(waited - 1ms);
  CHECK(stage.launcher->started.empty());
  co_await stage.pass(1ms);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 1);
  stage.worker(0).exit(1);
  co_await stage.quiet();
  // A restart does not wait.
  REQUIRE(stage.launcher->started.size() == 2);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent_extension: it delays the stop of workers that are well", "[agent]") {
  extended_stage stage(time);
  stage.plan->stop = 10s;
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.pass(10s - 1ms);
  CHECK(stage.worker(0).running());
  SECTION("for its time") { co_await stage.pass(1ms); }
  SECTION("until a stop is requested") { stage.agent().stop({}); }
  co_await stage.quiet();
  CHECK_FALSE(stage.worker(0).running());
  if (stage.launcher->started.size() == 2) stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent_extension: its error ends the run, and it is closed", "[agent]") {
  extended_stage stage(time);
  stage.plan->fails_to_prepare = true;
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.end();
  CHECK(stage.failure_text() == "the extension is broken");
  CHECK(stage.story() == "round 0, prepare, closed, shutdown");
}

TIME_TEST("agent_extension: if it cannot be closed, the job ends for the other nodes all the same",
          "[agent]") {
  extended_stage stage(time);
  stage.plan->fails_to_close = true;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.failure_text() == "the extension is stuck");
  CHECK(stage.story() ==
        "round 0, prepare, begin, start 0, beside workers, end 0: exit code 0, gone 0, closed, "
        "close, shutdown");
}

}  // namespace agent_extension_test

}  // namespace
}  // namespace elastic

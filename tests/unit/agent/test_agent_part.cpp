// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When an agent calls its parts, and what they can delay.

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/race.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace agent_part_test {

using namespace std::chrono_literals;
using test::agent_stage;

/// How the part behaves, and what has become of it.
struct script {
  std::shared_ptr<std::vector<std::string>> notes;
  agent_part::context context = {};
  duration join = duration::zero();
  duration stop = duration::zero();
  time_point ready_at = time_point::max();
  bool fails_to_prepare = false;
  bool fails_to_close = false;
  int alive = 0;
};

/// Notes its calls beside those of launcher and rendezvous.
class recorder final : public agent_part {
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
    if (plan_->fails_to_prepare) throw std::runtime_error("the part is broken");
    co_return;
  }
  void begin_attempt(const rendezvous_round&) override { note("begin"); }
  std::optional<run_result::worker_starts> starts() const override {
    run_result::worker_starts counted;
    counted.warm = 2;
    return counted;
  }
  task<void> beside_workers(bool may_restart) override {
    note(may_restart ? "beside workers" : "beside the last workers");
    co_return;
  }
  task<void> beside_exit_barrier() override {
    note("beside the exit barrier");
    co_return;
  }
  void end_attempt() override { note("end of attempt"); }
  task<void> close() override {
    note("closed");
    if (plan_->fails_to_close) throw std::runtime_error("the part is stuck");
    co_return;
  }

 private:
  void note(const std::string& call) { plan_->notes->push_back(call); }

  std::shared_ptr<script> plan_;
};

struct guest_stage : agent_stage {
  explicit guest_stage(test::manual_time& clock) : agent_stage(clock) {
    workers.nproc_per_node = 1;
    workers.max_restarts = 1;
    parts.push_back({"recorder", [plan = plan](agent_part::context context) {
                       plan->context = std::move(context);
                       return std::make_shared<recorder>(plan);
                     }});
  }
  std::shared_ptr<script> plan = std::make_shared<script>(script{launcher->notes});
};

TIME_TEST("agent part: the agent calls it around each attempt", "[agent]") {
  guest_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.story() ==
        "round 0, prepare, begin, start 0, beside workers, end 0: exit code 1, "
        "end of attempt, gone 0, round 1, prepare, begin, start 1, beside the last workers, "
        "end 1: exit code 0, gone 1, beside the exit barrier, close, shutdown, closed");
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().starts.warm == 4);
  CHECK(stage.plan->alive == 0);
  CHECK(stage.is_clean());
}

/// Equips the workers when it knows their ranks.
class outfitter final : public agent_part {
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
    variables["CHOSEN"] = "by the part";
  }
  int passed_descriptor(int local_rank) override { return 100 + local_rank; }

 private:
  std::shared_ptr<std::vector<std::string>> notes_;
  std::int64_t round_ = -1;
};

TIME_TEST("agent part: it equips the workers of each round", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.workers.environment = {{"OUTER", "1"}};
  stage.workers.env = {{"CHOSEN", "by the user"}};
  stage.parts.push_back({"outfitter", [notes = stage.launcher->notes](auto context) {
                           CHECK(context.local_world_size == 2);
                           return std::make_shared<outfitter>(notes);
                         }});
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

TIME_TEST("agent part: it lends what the agent works with", "[agent]") {
  guest_stage stage(time);
  stage.job_may_grow = true;
  stage.start();
  co_await stage.quiet();
  const agent_part::context& context = stage.plan->context;
  CHECK(context.job_may_grow);
  CHECK(context.launcher == stage.launcher);
  const std::vector<process_spec> expected = context.first_workers();
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].program == stage.workers.program);
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent part: it delays the first round until it is ready, or for its time",
          "[agent]") {
  guest_stage stage(time);
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

TIME_TEST("agent part: it delays the stop of workers that are well", "[agent]") {
  guest_stage stage(time);
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

TIME_TEST("agent part: its error ends the run, and it is closed", "[agent]") {
  guest_stage stage(time);
  stage.plan->fails_to_prepare = true;
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.end();
  CHECK(stage.failure_text() == "the part is broken");
  CHECK(stage.story() == "round 0, prepare, shutdown, closed");
}

TIME_TEST("agent part: one that cannot be closed changes nothing about the job", "[agent]") {
  guest_stage stage(time);
  stage.plan->fails_to_close = true;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.log->has("a part of the agent did not end in order: the part is stuck"));
  CHECK(stage.story() ==
        "round 0, prepare, begin, start 0, beside workers, end 0: exit code 0, gone 0, beside the "
        "exit barrier, close, shutdown, closed");
}

// ---- several parts ------------------------------------------------------------------------------

/// Notes each call, and fails or takes a minute in one of them.
class probe final : public agent_part {
 public:
  struct plan {
    std::string name = "a";
    std::string fails_in = {};
    std::string is_slow_in = {};
    std::shared_ptr<std::vector<std::string>> notes = {};
    std::shared_ptr<time_source> time = {};
  };
  explicit probe(plan how) : plan_(std::move(how)) {}

  std::shared_ptr<process_launcher> wrap(std::shared_ptr<process_launcher> inner) override {
    note("wrap");
    return inner;
  }
  duration join_delay() override {
    note("join_delay");
    return duration::zero();
  }
  duration stop_delay(const rendezvous_change&) override {
    note("stop_delay");
    return 1h;
  }
  task<void> until_ready() override { return pass("until_ready"); }
  task<void> prepare_attempt() override { return pass("prepare_attempt"); }
  task<void> agree(rendezvous_round, assigned_ranks) override { return pass("agree"); }
  void begin_attempt(const rendezvous_round&) override { note("begin_attempt"); }
  void change_environment(const worker_identity&, environment_map&) override {
    note("change_environment");
  }
  int passed_descriptor(int) override {
    note("passed_descriptor");
    return -1;
  }
  std::optional<run_result::worker_starts> starts() const override { return std::nullopt; }
  void started(const started_workers&) override { note("started"); }
  void ended(const attempt_worker& worker) override { note("ended: " + worker.end); }
  task<void> beside_workers(bool) override { return pass("beside_workers"); }
  void end_attempt() override { note("end_attempt"); }
  task<void> end() override { return pass("end"); }
  task<void> close() override { return pass("close"); }

 private:
  void note(const std::string& call) {
    plan_.notes->push_back(plan_.name + " " + call);
    if (plan_.fails_in == call) throw std::runtime_error("broken in " + call);
  }
  task<void> pass(std::string call) {
    note(call);
    if (plan_.is_slow_in == call) co_await plan_.time->sleep_until(plan_.time->now() + 1min);
  }

  plan plan_;
};

void attach_probes(agent_stage& stage, std::vector<probe::plan> plans) {
  stage.workers.nproc_per_node = 1;
  stage.workers.max_restarts = 1;
  for (probe::plan& plan : plans) {
    plan.notes = stage.launcher->notes;
    plan.time = stage.time.share();
    stage.attach(std::make_shared<probe>(plan));
  }
}

TIME_TEST("agent part: several are called in order, and closed in reverse order", "[agent]") {
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a"}, {.name = "b"}});
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  stage.worker(1).exit(0);
  co_await stage.end();
  const std::string attempt =
      "a prepare_attempt, b prepare_attempt, a agree, b agree, a begin_attempt, b begin_attempt, "
      "a change_environment, b change_environment, a passed_descriptor, b passed_descriptor, ";
  const std::string run = "a started, b started, a beside_workers, b beside_workers, ";
  CHECK(stage.story() == "a wrap, b wrap, a join_delay, b join_delay, round 0, " + attempt +
                             "start 0, " + run +
                             "end 0: exit code 1, a ended: exit code 1, b ended: exit code 1, "
                             "a end_attempt, b end_attempt, gone 0, round 1, " +
                             attempt + "start 1, " + run +
                             "end 1: exit code 0, a ended: exit code 0, b ended: exit code 0, "
                             "gone 1, b end, a end, close, shutdown, b close, a close");
  CHECK(stage.is_clean());
}

TIME_TEST("agent part: one that fails ends the run, and all are closed", "[agent]") {
  const std::string call =
      GENERATE("join_delay", "prepare_attempt", "agree", "begin_attempt", "change_environment",
               "passed_descriptor", "beside_workers", "end_attempt");
  CAPTURE(call);
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a"}, {.name = "b", .fails_in = call}, {.name = "c"}});
  stage.start();
  co_await stage.quiet();
  if (!stage.launcher->started.empty() && stage.worker(0).running()) stage.worker(0).exit(1);
  co_await stage.quiet();
  if (stage.launcher->started.size() > 1 && stage.worker(1).running()) stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.failure_text() == "broken in " + call);
  CHECK(stage.story().find("c close, b close, a close") != std::string::npos);
  CHECK(stage.is_clean());
}

TIME_TEST("agent part: one that fails to be made ends the agent before it starts", "[agent]") {
  agent_stage stage(time);
  SECTION("its factory throws") {
    stage.parts.push_back({"broken", [](auto) -> std::shared_ptr<agent_part> {
                             throw std::runtime_error("no such thing");
                           }});
  }
  SECTION("its factory returns nothing") {
    stage.parts.push_back({"broken", [](auto) { return std::shared_ptr<agent_part>(); }});
  }
  SECTION("it cannot wrap the launcher") { attach_probes(stage, {{.fails_in = "wrap"}}); }
  stage.start();
  co_await stage.end();
  CHECK_FALSE(stage.failure_text().empty());
  CHECK(stage.launcher->started.empty());
}

TIME_TEST("agent part: one that fails when it is told something is logged", "[agent]") {
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a", .fails_in = "started"}, {.name = "b"}});
  stage.start();
  co_await stage.quiet();
  CHECK(stage.log->has("a part of the agent failed: broken in started"));
  CHECK(stage.story().find("a started, b started") != std::string::npos);
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent part: the agent waits for one that is slow", "[agent]") {
  const std::string call = GENERATE("agree", "end", "close");
  CAPTURE(call);
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a", .is_slow_in = call}, {.name = "b"}});
  stage.start();
  co_await stage.pass(59s);
  CHECK(stage.launcher->started.size() == (call == "agree" ? 0 : 1));
  co_await stage.pass(1s);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 1);
  stage.worker(0).exit(0);
  co_await stage.pass(59s);
  CHECK(stage.ended() == (call == "agree"));
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

TIME_TEST("agent part: one that prepares or works slowly delays no worker and no end", "[agent]") {
  const std::string call = GENERATE("prepare_attempt", "beside_workers");
  CAPTURE(call);
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a", .is_slow_in = call}, {.name = "b"}});
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 1);
  stage.worker(0).exit(0);
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.is_clean());
}

TEST_CASE("agent part: services have one of each kind", "[agent]") {
  agent_services services;
  const auto part = std::make_shared<probe>(probe::plan());
  add_part(services, "probe", part);
  CHECK_THROWS_WITH(add_part(services, "probe", part),
                    "the services of an agent have a part 'probe' already");
  CHECK_THROWS_WITH(add_part(services, "none", std::shared_ptr<agent_part>()),
                    "add_part: the part is null");
  CHECK(services.parts.size() == 1);
}

TIME_TEST("agent part: one that is added while the agent runs is not called", "[agent]") {
  agent_stage stage(time);
  attach_probes(stage, {{.name = "a"}});
  stage.start();
  co_await stage.quiet();
  attach_probes(stage, {{.name = "late"}});
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.story().find("late") == std::string::npos);
}

TIME_TEST("agent part: what outlives the agent can still call it, without effect", "[agent]") {
  agent_part::context kept;
  {
    agent_stage stage(time);
    stage.workers.nproc_per_node = 1;
    stage.parts.push_back({"keeper", [&kept](agent_part::context context) {
                             kept = std::move(context);
                             return std::make_shared<agent_part>();
                           }});
    stage.start();
    co_await stage.quiet();
    CHECK(kept.workers().size() == 1);
    stage.worker(0).exit(0);
    co_await stage.end();
  }
  CHECK(kept.workers().empty());
  CHECK(kept.first_workers().empty());
  kept.end_hung(0, "too late");
  kept.process_ended(exit_status::signalled(SIGKILL));
}

}  // namespace agent_part_test

}  // namespace
}  // namespace elastic

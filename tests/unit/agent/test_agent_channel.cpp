// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// An agent's reactions to its workers' messages over the control channel.

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace agent_channel_tests {

using namespace std::chrono_literals;
using elastic::exit_status;
using elastic::log_level;
using elastic::run_result;
using elastic::stop_request;
using elastic::task;
using elastic::worker_request;
using elastic::worker_state;
using elastic::test::agent_stage;
using elastic::test::channel_peer;
using elastic::test::contains_text;
using elastic::test::fake_process;

/// A worker's end of the channel that its environment names.
struct peer : channel_peer {
  explicit peer(const fake_process& worker, bool checkpoints = false)
      : channel_peer(worker.variable("ELASTIC_CONTROL"), worker.local_rank(), checkpoints) {}
};

stop_request stop_by(int signal) {
  stop_request request;
  request.signal = signal;
  request.escalates = true;
  return request;
}

// ---- hung workers ------------------------------------------------------------------------------

TIME_TEST("agent channel: a hung worker is killed, and the group starts again", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.workers.liveness.heartbeat_timeout = 10s;
  stage.start();
  co_await stage.quiet();
  peer peer_1(stage.worker(1));
  peer_1.say(R"({"kind":"heartbeat"})");
  peer_1.say(R"({"kind":"enter","section":"all_reduce"})");
  co_await stage.pass(9s);
  CHECK(stage.launcher->started.size() == 2);
  co_await stage.pass(1001ms);
  CHECK(stage.worker(1).signals == std::vector<int>{SIGKILL});
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  REQUIRE(stage.launcher->started.size() == 4);
  CHECK(
      stage.log->has("rank 1 (local rank 1, pid 1001) is hung: no heartbeat for 10 s (allowed "
                     "10 s) in section 'all_reduce'",
                     log_level::warning));
  CHECK(stage.worker(3).variable("ELASTIC_CONTROL") != stage.worker(1).variable("ELASTIC_CONTROL"));
  co_await stage.pass(1h);
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

TIME_TEST("agent channel: the report says that a worker was hung, and where", "[agent]") {
  agent_stage stage(time);
  const auto events = std::make_shared<elastic::test::event_recorder>();
  stage.events = events;
  stage.start();
  co_await stage.quiet();
  peer peer_1(stage.worker(1));
  peer_1.say(R"({"kind":"expires","timer":"step #1","after":2.5})");
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  const elastic::run_result::failure* cause = elastic::root_cause(result.failures);
  REQUIRE(cause != nullptr);
  CHECK(cause->rank == 1);
  CHECK(cause->hung == "timer 'step #1' expired after 2.5 s");
  CHECK_FALSE(cause->stopped_by_agent);
  CHECK_THAT(elastic::failure_report("train.py", result.failures),
             contains_text("traceback : hung: timer 'step #1' expired after 2.5 s\n"));
  CHECK_THAT(result.reason, contains_text("rank 1 was hung: timer 'step #1'"));
  const auto ends = events->ends();
  REQUIRE(ends.size() == 3);
  CHECK(ends[1].raw_error == R"({"message": "hung: timer 'step #1' expired after 2.5 s"})");
}

TIME_TEST("agent channel: a worker that says nothing is no worse than under torchrun", "[agent]") {
  agent_stage stage(time);
  stage.workers.liveness.heartbeat_timeout = 1s;
  stage.workers.liveness.learn_timeouts = 2;
  stage.workers.preempt_grace = 1h;
  stage.start();
  co_await stage.quiet();
  co_await stage.pass(1min);  // half of it for the look at who has come
  CHECK(time.sleepers() == 1);  // without a deadline: the metrics that nobody wants
  co_await stage.pass(100h);
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
}

TIME_TEST("agent channel: progress that a library reports by itself is no heartbeat", "[agent]") {
  agent_stage stage(time);
  stage.workers.liveness.heartbeat_timeout = 10s;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0));
  peer_0.say(R"({"kind":"progress","step":1,"automatic":true})");
  co_await stage.pass(1h);
  CHECK(stage.worker(0).signals.empty());
  CHECK(stage.decisions().find("step_reached") != std::string::npos);
  peer_0.say(R"({"kind":"progress","step":2,"automatic":false})");
  co_await stage.pass(11s);
  CHECK(stage.worker(0).signals == std::vector<int>{SIGKILL});
  co_await stage.end();
}

/// Notes what it is told, or throws.
struct noting_observer final : elastic::agent_part {
  std::vector<std::string> reports;
  bool throws = false;
  void progressed(const elastic::worker_progress& report) override {
    reports.push_back(fmt::format("rank {}: {} of {} '{}' loss {}", report.rank, report.step,
                                  report.total, report.text, report.metrics.at("loss")));
  }
  void hung(const elastic::agent_part::hung_worker& worker) override {
    reports.push_back(fmt::format("rank {} pid {}: {}", worker.rank, worker.pid, worker.reason));
    if (throws) throw std::runtime_error("no");
  }
};

TIME_TEST("agent channel: a part hears of progress, and of a hung worker before its end",
          "[agent]") {
  const auto observer = std::make_shared<noting_observer>();
  observer->throws = true;
  agent_stage stage(time);
  stage.attach(observer);
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0));
  peer_0.say(R"({"kind":"progress","step":3,"total":9,"text":"warm","metrics":{"loss":0.5}})");
  peer_0.say(R"({"kind":"heartbeat","timeout":2})");
  co_await stage.end();
  CHECK(observer->reports ==
        std::vector<std::string>{"rank 0: 3 of 9 'warm' loss 0.5",
                                 "rank 0 pid 1000: no heartbeat for 2 s (allowed 2 s)"});
  CHECK(stage.log->has("a part of the agent failed: no"));
  CHECK(stage.result().state == worker_state::failed);
}

// ---- preemption --------------------------------------------------------------------------------

TIME_TEST("agent channel: on SIGTERM workers save a checkpoint before they are stopped",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.preempt_grace = 30s;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  peer peer_1(stage.worker(1));
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.pass(20s);
  CHECK(peer_0.hears(R"("kind": "checkpoint", "id": 1, "within": 30)"));
  CHECK_FALSE(peer_0.hears("\"stop\""));
  CHECK(stage.worker(0).signals.empty());
  CHECK(stage.worker(1).signals.empty());
  peer_0.say(R"({"kind":"saved","id":1})");
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  CHECK(peer_1.hears(R"("kind": "stop", "grace": 30)"));
  CHECK(stage.log->has("checkpoint: saved by 1 of 1 workers in 20 s"));
  CHECK(stage.is_clean());
}

TIME_TEST("agent channel: who does not save in time is stopped all the same", "[agent]") {
  agent_stage stage(time);
  stage.workers.preempt_grace = 30s;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.pass(29s);
  CHECK(stage.worker(0).signals.empty());
  co_await stage.pass(1001ms);
  CHECK(stage.ended());
  CHECK(stage.log->has("checkpoint: local rank 0 did not answer within 30 s", log_level::warning));
  CHECK(stage.is_clean());
}

TIME_TEST("agent channel: what workers were to be asked when they ended, the next ones are not",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  // The second waits for the first.
  stage.agent().ask({worker_request::kind::checkpoint, 1h});
  stage.agent().ask({worker_request::kind::checkpoint, 1h});
  co_await stage.quiet();
  CHECK(peer_0.hears("\"checkpoint\""));
  stage.worker(1).exit(1);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  CHECK_FALSE(stage.log->has("no worker accepts requests for a checkpoint"));
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent channel: a second request to stop waits for no checkpoint", "[agent]") {
  agent_stage stage(time);
  stage.workers.preempt_grace = 1h;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.pass(5s);
  stage.agent().stop(stop_by(SIGINT));
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGKILL});
  CHECK(stage.is_clean());
}

TIME_TEST("agent channel: SIGINT is not a preemption", "[agent]") {
  agent_stage stage(time);
  stage.workers.preempt_grace = 30s;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGINT));
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK_FALSE(peer_0.hears("checkpoint"));
}

TIME_TEST("agent channel: workers that end while they save end the wait", "[agent]") {
  agent_stage stage(time);
  stage.workers.preempt_grace = 1h;
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.quiet();
  stage.worker(0).exit(0);
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
}

// ---- requests ----------------------------------------------------------------------------------

TIME_TEST("agent channel: an agent tells its workers what it is asked to", "[agent]") {
  agent_stage stage(time);
  stage.agent().ask({});  // nobody runs yet
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0), true);
  co_await stage.quiet();
  worker_request request;
  request.what = worker_request::kind::pause;
  stage.agent().ask(request);
  request.what = worker_request::kind::resume;
  stage.agent().ask(request);
  request.what = worker_request::kind::checkpoint;
  request.within = 5s;
  stage.agent().ask(request);
  co_await stage.quiet();
  CHECK(
      peer_0.hears("{\"kind\": \"pause\"}\n{\"kind\": \"resume\"}\n"
                   "{\"kind\": \"checkpoint\", \"id\": 1, \"within\": 5}\n"));
  co_await stage.pass(5001ms);
  CHECK(stage.log->has("local rank 0 did not answer within 5 s"));
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  stage.agent().ask(request);
  CHECK(stage.result().state == worker_state::succeeded);
}

// ---- the last words of workers -----------------------------------------------------------------

TIME_TEST("agent channel: if a worker asked not to be started again, a failure is the last",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 5;
  stage.start();
  co_await stage.quiet();
  peer peer_1(stage.worker(1));
  peer_1.say(R"({"kind":"no_restart","reason":"the learning rate is negative"})");
  co_await stage.pass(1h);
  CHECK_FALSE(stage.ended());
  stage.worker(1).exit(1);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(stage.launcher->started.size() == 2);
  CHECK_THAT(result.reason, contains_text("rank 1 asked not to be started again: the learning "
                                          "rate is negative"));
  CHECK_THAT(stage.story(), contains_text("close as failed, shutdown"));
}

TIME_TEST("agent channel: a wish not to be started again is of one attempt, and no failure",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 5;
  stage.start();
  co_await stage.quiet();
  peer peer_1(stage.worker(1));
  peer_1.say(R"({"kind":"no_restart"})");
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  stage.worker(2).exit(1);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 6);
  stage.worker(4).exit(0);
  stage.worker(5).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent channel: attempts that come no further are the last ones after so many",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 50;
  stage.workers.restart.while_progress = 2;
  stage.start();
  co_await stage.quiet();
  for (const std::size_t attempt : {0, 1, 2}) {
    REQUIRE(stage.launcher->started.size() == 2 * (attempt + 1));
    peer worker_peer(stage.worker(2 * attempt));
    worker_peer.say(R"({"kind":"progress","step":7})");
    co_await stage.quiet();
    stage.worker(2 * attempt + 1).exit(3);
    co_await stage.quiet();
  }
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.is_hopeless);
  CHECK(elastic::exit_code(result) == 93);
  CHECK_THAT(result.reason, contains_text("2 attempts in a row came no further than step 7"));
  CHECK_FALSE(stage.log->has("has reported a step"));
}

TIME_TEST("agent channel: that no worker reports the steps that are asked for is said once",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 2;
  stage.workers.restart.while_progress = 1;
  stage.start();
  co_await stage.quiet();
  for (const std::size_t attempt : {0, 1, 2}) {
    CHECK(stage.log->count("no worker of this node has reported a step") == (attempt > 0 ? 1 : 0));
    stage.worker(2 * attempt).exit(3);
    co_await stage.quiet();
  }
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.log->count("no worker of this node has reported a step",
                         elastic::log_level::warning) == 1);
}

TIME_TEST("agent channel: a bad node leaves the job, which goes on without it", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 5;
  stage.start();
  co_await stage.quiet();
  peer peer_1(stage.worker(1));
  peer_1.say(R"({"kind":"bad_node","reason":"GPU 3 fell off the bus"})");
  co_await stage.quiet();
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.left_as_bad);
  CHECK(elastic::exit_code(result) == 1);
  CHECK(result.reason == "rank 1 says that this node is bad: GPU 3 fell off the bus");
  CHECK_THAT(elastic::closing_words("train.py", result),
             contains_text("train.py FAILED on this node, which has left the job: rank 1 says"));
  // The job is not closed for the others.
  CHECK_THAT(stage.story(), contains_text("gone 1, shutdown"));
  CHECK(stage.is_clean());
}

TIME_TEST("agent channel: what is not a message costs the job nothing", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  peer peer_0(stage.worker(0));
  peer_0.say("hello?");
  co_await stage.quiet();
  CHECK(peer_0.is_closed());
  CHECK(stage.log->has("the control channel of local rank 0 is closed", log_level::warning));
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent channel: the channel of a launcher around this one is not for its workers",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.environment["ELASTIC_CONTROL"] = "@outer";
  stage.start();
  co_await stage.quiet();
  CHECK(stage.worker(0).variable("ELASTIC_CONTROL").starts_with("@elastic-"));
  stage.agent().stop(stop_by(SIGKILL));
  co_await stage.end();
}

}  // namespace agent_channel_tests

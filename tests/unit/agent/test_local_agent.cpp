// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/local_agent.hpp>

#include <elastic/base/error.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace local_agent_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::exit_status;
using elastic::run_result;
using elastic::stop_request;
using elastic::task;
using elastic::worker_state;
using elastic::test::agent_stage;
using elastic::test::fake_process;

const std::vector<int> no_signals;
const std::vector<int> only_term{SIGTERM};

stop_request stop_by(int signal, const std::string& reason = "") {
  stop_request request;
  request.signal = signal;
  request.reason = reason;
  request.escalates = true;
  return request;
}

// ---- a job that ends by itself ----------------------------------------------------------------

TIME_TEST("agent: a job whose workers all succeed has succeeded", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.launcher->running() == 2);
  stage.worker(1).exit(0);
  co_await stage.pass(1h);
  REQUIRE_FALSE(stage.ended());
  stage.worker(0).exit(0);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.failures.empty());
  CHECK(result.restarts == 0);
  CHECK_FALSE(result.stop_signal);
  CHECK_FALSE(result.reason.empty());
  CHECK(stage.is_clean());
  CHECK(stage.worker(0).signals == no_signals);
}

TIME_TEST("agent: the end of a job in order: workers, their trees, the rendezvous", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.story() ==
        "round 0, start 0, start 1, end 0: exit code 0, end 1: exit code 0, gone 0, gone 1, "
        "close, shutdown");
}

TIME_TEST("agent: what ended the attempt is logged before its consequences", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(1).end(exit_status::signalled(SIGKILL));
  stage.worker(0).end(exit_status::signalled(SIGTERM));
  co_await stage.end();
  const std::string log = stage.log->text();
  const std::size_t cause = log.find("ended: SIGKILL");
  const std::size_t consequence = log.find("ended: SIGTERM");
  CAPTURE(log);
  REQUIRE(cause != std::string::npos);
  REQUIRE(consequence != std::string::npos);
  CHECK(cause < consequence);
}

TIME_TEST("agent: a worker that it stopped is not logged as a failure", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(1).end(exit_status::signalled(SIGKILL));
  co_await stage.end();
  CHECK(stage.worker(0).signals == only_term);
  CHECK(stage.log->has("rank 1 (local rank 1, pid 1001) ended: SIGKILL"));
  CHECK_FALSE(stage.log->has("rank 0 (local rank 0, pid 1000) ended"));
}

TIME_TEST("agent: a failure ends the job if no restarts are allowed", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(1).exit(7);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures[0].rank == 1);
  CHECK(result.failures[0].status == exit_status::exited(7));
  CHECK_FALSE(result.failures[0].stopped_by_agent);
  CHECK(result.failures[1].rank == 0);
  CHECK(result.failures[1].status == exit_status::signalled(SIGTERM));
  CHECK(result.failures[1].stopped_by_agent);
  CHECK(stage.worker(0).signals == only_term);
  CHECK(stage.story() ==
        "round 0, start 0, start 1, end 1: exit code 7, end 0: SIGTERM, gone 0, gone 1, "
        "close as failed, shutdown");
}

TIME_TEST("agent: every kind of death is a failure, exit code 0 alone is none", "[agent]") {
  for (int code = 0; code <= 255; ++code) {
    agent_stage stage(time);
    stage.workers.nproc_per_node = 1;
    stage.start();
    co_await stage.quiet();
    stage.worker(0).exit(code);
    co_await stage.end();
    CAPTURE(code);
    REQUIRE((stage.result().state == worker_state::succeeded) == (code == 0));
    REQUIRE(stage.result().failures.size() == (code == 0 ? 0 : 1));
  }
  std::vector<exit_status> deaths{exit_status::unknown()};
  for (int number = 1; number <= 64; ++number) deaths.push_back(exit_status::signalled(number));
  for (const exit_status& death : deaths) {
    agent_stage stage(time);
    stage.workers.nproc_per_node = 1;
    stage.start();
    co_await stage.quiet();
    stage.worker(0).end(death);
    co_await stage.end();
    CAPTURE(death.text());
    REQUIRE(stage.result().state == worker_state::failed);
    REQUIRE(stage.result().failures.at(0).status == death);
    REQUIRE_FALSE(stage.result().failures.at(0).stopped_by_agent);
  }
}

TIME_TEST("agent: a restart waits for as long as its terms say, and no stop waits for it",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 9;
  stage.workers.restart.delay = 2s;
  stage.start();
  co_await stage.quiet();
  std::size_t start_count = 2;
  for (const auto wait : {2s, 4s}) {
    stage.worker(start_count - 1).exit(1);
    co_await stage.pass(wait - 1ms);
    CHECK(stage.launcher->started.size() == start_count);
    CHECK(stage.launcher->all_gone());
    co_await stage.pass(1ms);
    co_await stage.quiet();
    start_count += 2;
    CHECK(stage.launcher->started.size() == start_count);
  }
  stage.worker(start_count - 1).exit(1);
  co_await stage.pass(1s);
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.result().restarts == 2);
  CHECK(stage.launcher->started.size() == start_count);
}

TIME_TEST("agent: an end after which there is to be no restart ends the job", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 9;
  stage.workers.restart.never_after.add_code(93);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  // What the others die of does not count: they were told to.
  stage.worker(3).on_signal = fake_process::exit_with(5);
  stage.worker(2).exit(93);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.result().restarts == 1);
  CHECK_THAT(stage.result().reason, Catch::Contains("no restart after exit code 93"));
}

TIME_TEST("agent: an end that follows from another node's failure decides on no restart",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 9;
  stage.workers.restart.only_after.add_code(75);
  stage.rendezvous->failure_is_elsewhere = true;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  CHECK(stage.launcher->started.size() == 4);
  stage.rendezvous->failure_is_elsewhere = false;
  stage.worker(2).exit(1);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK_THAT(stage.result().reason, Catch::Contains("not among the ends"));
}

TIME_TEST("agent: a signal is passed on to the workers that run, and ends nothing by itself",
          "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).on_signal = stage.worker(1).on_signal = fake_process::ignore_all();
  stage.worker(1).exit(0);
  stage.agent().signal(SIGUSR1);
  co_await stage.quiet();
  CHECK(stage.worker(0).signals == std::vector<int>{SIGUSR1});
  CHECK(stage.worker(1).signals == no_signals);
  stage.worker(0).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  stage.agent().signal(SIGUSR1);
}

TIME_TEST("agent: a failure is answered by a restart of all, which may succeed", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 3;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).end(exit_status::signalled(SIGKILL));
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  CHECK(stage.worker(1).signals == only_term);
  CHECK(stage.worker(0).variable("TORCHELASTIC_RESTART_COUNT") == "0");
  CHECK(stage.worker(2).variable("TORCHELASTIC_RESTART_COUNT") == "1");
  CHECK(stage.worker(3).variable("TORCHELASTIC_MAX_RESTARTS") == "3");
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.failures.empty());
  CHECK(result.restarts == 1);
  CHECK(result.max_restarts == 3);
  CHECK(stage.story() ==
        "round 0, start 0, start 1, end 0: SIGKILL, end 1: SIGTERM, gone 0, gone 1, "
        "round 1, start 2, start 3, end 2: exit code 0, end 3: exit code 0, gone 2, gone 3, "
        "close, shutdown");
  CHECK(stage.log->has("default rank 0 (local rank 0, pid 1000) ended: SIGKILL"));
  CHECK(stage.log->has("restart 1 of 3"));
}

TIME_TEST("agent: a failure after the restarts are used up ends the job", "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 1;
  stage.workers.max_restarts = 2;
  stage.launcher->on_start = [](fake_process& process) {
    process.exit(static_cast<int>(process.index) + 1);
  };
  stage.start();
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(stage.launcher->started.size() == 3);
  CHECK(result.state == worker_state::failed);
  CHECK(result.restarts == 2);
  REQUIRE(result.failures.size() == 1);
  CHECK(result.failures[0].status == exit_status::exited(3));
  CHECK(result.reason.find("2 restarts") != std::string::npos);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: workers that fail together use up one restart", "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 8;
  stage.workers.max_restarts = 1;
  stage.launcher->on_start = [](fake_process& process) { process.exit(process.index < 8 ? 1 : 0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 1);
  CHECK(stage.launcher->started.size() == 16);
}

TIME_TEST("agent: a changed membership restarts the workers for free", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 0;
  stage.start();
  for (int change = 0; change < 5; ++change) {
    co_await stage.quiet();
    stage.rendezvous->change();
  }
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 12);
  CHECK(stage.worker(0).signals == only_term);
  CHECK(stage.worker(10).variable("TORCHELASTIC_RESTART_COUNT") == "0");
  stage.worker(10).exit(0);
  stage.worker(11).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 0);
  CHECK(stage.log->has("membership changed"));
}

TIME_TEST("agent: changes do not give back the restarts that failures used up", "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 1;
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.quiet();
  CHECK(stage.worker(2).variable("TORCHELASTIC_RESTART_COUNT") == "1");
  stage.worker(2).exit(1);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.result().restarts == 1);
}

// ---- what workers are told ---------------------------------------------------------------------

TIME_TEST("agent: each worker is told who it is, where the master is and which job it is",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.role = "trainer";
  stage.workers.arguments = {"--rank=${local_rank}", "$$x"};
  stage.workers.environment["HOME"] = "/root";
  stage.workers.environment["RANK"] = "wrong";
  stage.workers.directory = "/somewhere";
  stage.rendezvous->spoil = [](elastic::rendezvous_round& met) {
    met.master.served_by_agent = true;
  };
  stage.start();
  co_await stage.quiet();
  for (int rank = 0; rank < 2; ++rank) {
    const fake_process& worker = stage.worker(static_cast<std::size_t>(rank));
    CHECK(worker.variable("RANK") == std::to_string(rank));
    CHECK(worker.variable("LOCAL_RANK") == std::to_string(rank));
    CHECK(worker.variable("ROLE_RANK") == std::to_string(rank));
    CHECK(worker.variable("WORLD_SIZE") == "2");
    CHECK(worker.variable("LOCAL_WORLD_SIZE") == "2");
    CHECK(worker.variable("ROLE_WORLD_SIZE") == "2");
    CHECK(worker.variable("GROUP_RANK") == "0");
    CHECK(worker.variable("GROUP_WORLD_SIZE") == "1");
    CHECK(worker.variable("ROLE_NAME") == "trainer");
    CHECK(worker.variable("MASTER_ADDR") == "192.0.2.1");
    CHECK(worker.variable("MASTER_PORT") == "29501");
    CHECK(worker.variable("TORCHELASTIC_USE_AGENT_STORE") == "True");
    CHECK(worker.variable("TORCHELASTIC_RUN_ID") == "a job");
    CHECK(worker.variable("TORCHELASTIC_ERROR_FILE").empty());
    CHECK(worker.variable("HOME") == "/root");
    CHECK(worker.spec.program == "/usr/bin/trainer");
    CHECK(worker.spec.directory == "/somewhere");
    const std::vector<std::string> arguments{"--rank=" + std::to_string(rank), "$x"};
    CHECK(worker.spec.arguments == arguments);
  }
  stage.agent().stop({});
  co_await stage.end();
}

TIME_TEST("agent: the nodes of a job number their workers together", "[agent]") {
  agent_stage first_node(time);
  agent_stage second_node(time);
  first_node.workers.nproc_per_node = 3;
  second_node.rendezvous->agents = first_node.rendezvous->agents;
  first_node.rendezvous->group_world_size = 2;
  second_node.rendezvous->group_world_size = 2;
  second_node.rendezvous->group_rank = 1;
  second_node.start();
  co_await second_node.quiet();
  CHECK(second_node.launcher->started.empty());
  first_node.start();
  co_await first_node.quiet();
  REQUIRE(second_node.launcher->started.size() == 2);
  CHECK(first_node.worker(2).variable("RANK") == "2");
  CHECK(second_node.worker(0).variable("RANK") == "3");
  CHECK(second_node.worker(1).variable("RANK") == "4");
  CHECK(second_node.worker(1).variable("LOCAL_RANK") == "1");
  CHECK(second_node.worker(1).variable("GROUP_RANK") == "1");
  CHECK(second_node.worker(1).variable("WORLD_SIZE") == "5");
  first_node.agent().stop({});
  second_node.agent().stop({});
  co_await first_node.end();
  co_await second_node.end();
}

// ---- what breaks down --------------------------------------------------------------------------

TIME_TEST("agent: a rendezvous that fails ends the run with its error", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->on_round = [](int) {
    throw elastic::error(errc::rendezvous_timeout, "nobody came");
  };
  stage.start();
  co_await stage.end();
  CHECK(stage.failure() == errc::rendezvous_timeout);
  CHECK(stage.story() == "round 0, shutdown");
}

TIME_TEST("agent: a job that others close before a later round fails with the failures of here",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 5;
  stage.rendezvous->on_round = [](int round) {
    if (round == 1) throw elastic::error(errc::rendezvous_closed, "no restarts are left");
  };
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.end();
  const elastic::run_result result = stage.result();
  CHECK(result.state == elastic::worker_state::failed);
  CHECK(result.reason == "no restarts are left");
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures.front().rank == 0);
  CHECK_FALSE(result.failures.front().stopped_by_agent);
  CHECK(stage.story() ==
        "round 0, start 0, start 1, end 0: exit code 1, end 1: SIGTERM, gone 0, gone 1, round 1, "
        "shutdown");
}

TIME_TEST("agent: a job that others have closed before any worker ran is an error", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->on_round = [](int) {
    throw elastic::error(errc::rendezvous_closed, "the job is over");
  };
  stage.start();
  co_await stage.end();
  CHECK(stage.failure() == errc::rendezvous_closed);
  CHECK(stage.story() == "round 0, shutdown");
}

TIME_TEST("agent: a rendezvous that breaks while workers run stops them first", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [&time](fake_process& process) {
    process.on_signal = fake_process::exit_after(time, 20s);
  };
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->break_down(
      std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone")));
  co_await stage.pass(19s);
  CHECK_FALSE(stage.ended());
  CHECK(stage.worker(0).signals == only_term);
  co_await stage.end();
  CHECK(stage.failure() == errc::connection_failed);
  CHECK(stage.is_clean());
  CHECK(stage.worker(1).signals == only_term);
}

TIME_TEST(
    "agent: workers that are being stopped are killed if the others can go on without the node",
    "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  bool ends_run = false;
  SECTION("because the round is to end") { stage.rendezvous->change(); }
  SECTION("because another worker failed") { stage.worker(0).exit(1); }
  SECTION("because the rendezvous broke") {
    ends_run = true;
    stage.rendezvous->break_down(
        std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone")));
  }
  co_await stage.pass(3s);
  CHECK(stage.worker(1).running());
  stage.rendezvous->fence();
  co_await stage.quiet();
  CHECK_FALSE(stage.worker(1).running());
  co_await stage.pass(1s);
  if (ends_run) {
    CHECK(stage.failure() == errc::connection_failed);
  } else {
    // Those of the next round are not concerned.
    CHECK(stage.worker(3).running());
    stage.worker(2).exit(0);
    stage.worker(3).exit(0);
    co_await stage.end();
  }
  CHECK(stage.is_clean());
}

TIME_TEST("agent: no worker is started any more if the others can go on without the node",
          "[agent]") {
  agent_stage stage(time);
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.launcher->holding == 1);
  stage.rendezvous->fence();
  co_await stage.quiet();
  CHECK(stage.launcher->holding == 0);
  CHECK_FALSE(stage.worker(0).running());
  co_await stage.end();
  CHECK(stage.launcher->started.size() == 1);
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: workers whose start the fence has ended are started in the next round",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->fence();
  co_await stage.pass(1s);
  REQUIRE(stage.launcher->running() == 2);
  stage.worker(1).exit(0);
  stage.worker(2).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a signal to be passed on reaches workers that are being started", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.launcher->holding == 1);
  stage.agent().signal(SIGUSR1);
  co_await stage.quiet();
  stage.launcher->let_go();
  co_await stage.quiet();
  const std::vector<int> only_user_signal{SIGUSR1};
  for (const std::size_t index : {0, 1}) {
    CHECK(stage.worker(index).signals == only_user_signal);
    stage.worker(index).exit(0);
  }
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a rendezvous that breaks as a worker fails leaves no worker", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->failure_when_cancelled =
      std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone"));
  stage.worker(0).exit(1);
  co_await stage.end();
  CHECK(stage.failure() == errc::connection_failed);
  CHECK(stage.worker(1).signals == only_term);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: without the others a failure is the end, and is reported", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 3;
  stage.rendezvous->report_failure_error =
      std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone"));
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.reason == "the store is gone");
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures[0].status == exit_status::exited(1));
  // The others may go on without this node: it does not close the job.
  CHECK(stage.story().find("close as") == std::string::npos);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: workers that failed on another node end the attempt here, too", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.rendezvous->what = {elastic::rendezvous_change::cause::worker_failed,
                            "node b: rank 7 ended: SIGKILL"};
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->failures = 1;
  stage.rendezvous->change();
  co_await stage.quiet();
  CHECK(stage.launcher->started.size() == 4);
  stage.rendezvous->failures = 2;
  stage.rendezvous->change();
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.reason == "node b: rank 7 ended: SIGKILL: the only restart has been used");
  CHECK(result.restarts == 1);
  for (const auto& failure : result.failures) CHECK(failure.stopped_by_agent);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a change while nodes tell about their workers lets them meet again", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.start();
  co_await stage.quiet();
  CHECK(stage.launcher->started.empty());
  stage.rendezvous->group_world_size = 1;
  stage.rendezvous->change();
  co_await stage.quiet();
  CHECK(stage.story() == "round 0, round 1, start 0, start 1");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent: the last restart used up while nodes tell about their workers ends the job",
          "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.rendezvous->what = {elastic::rendezvous_change::cause::worker_failed,
                            "node b: rank 3 ended: SIGKILL"};
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->failures = 1;
  stage.rendezvous->change();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.result().reason ==
        "node b: rank 3 ended: SIGKILL: no restarts were allowed (worker_spec::max_restarts 0)");
  CHECK(stage.launcher->started.empty());
}

TIME_TEST("agent: a job that has succeeded without this node leaves it nothing to do", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->on_round = [](int) {
    throw elastic::error(errc::rendezvous_finished, "all workers ended with success");
  };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().reason == "all workers ended with success");
  CHECK(stage.launcher->started.empty());
}

TIME_TEST("agent: a node lost at the exit barrier takes this one back to work", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->what = {elastic::rendezvous_change::cause::node_lost, "node b is gone"};
  stage.rendezvous->on_round = [&stage](int) { stage.rendezvous->group_world_size = 1; };
  stage.start();
  co_await stage.quiet();
  // The other node has not ended yet.
  stage.rendezvous->group_world_size = 2;
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 0);
}

TIME_TEST("agent: a round that finds the restarts used up starts nothing", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 2;
  stage.rendezvous->failures = 3;
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::failed);
  CHECK(stage.result().reason == "workers of the job failed: all 2 restarts have been used");
  CHECK(stage.launcher->started.empty());
  CHECK(stage.story() == "round 0, close as failed, shutdown");
}

TIME_TEST("agent: a worker that cannot be started ends the run and the others", "[agent]") {
  for (std::size_t bad_index = 0; bad_index < 4; ++bad_index) {
    agent_stage stage(time);
    stage.workers.nproc_per_node = 4;
    stage.workers.max_restarts = 5;
    stage.launcher->on_start = [bad_index](fake_process& process) {
      if (process.index == bad_index) throw elastic::error(errc::program_not_found, "no 'trainer'");
    };
    stage.start();
    co_await stage.end();
    CAPTURE(bad_index);
    CHECK(stage.failure() == errc::program_not_found);
    CHECK(stage.launcher->started.size() == bad_index);
    for (const auto& process : stage.launcher->started) {
      CHECK(process->signals == std::vector<int>{SIGKILL});
    }
    CHECK(stage.is_clean());
  }
}

TIME_TEST("agent: a worker that cannot be started again ends the run", "[agent]") {
  // Whatever the user could have corrected before the workers ran, it is no error of usage now.
  for (const errc why : {errc::start_failed, errc::file_access, errc::invalid_argument}) {
    agent_stage stage(time);
    stage.workers.max_restarts = 5;
    stage.launcher->on_start = [why](fake_process& process) {
      if (process.index == 3) throw elastic::error(why, "not again");
    };
    stage.start();
    co_await stage.quiet();
    stage.worker(1).exit(1);
    co_await stage.end();
    CHECK(stage.failure() == errc::start_failed);
    CHECK(stage.launcher->started.size() == 3);
    CHECK(stage.is_clean());
  }
}

TIME_TEST("agent: a log directory that cannot be made ends the run before anything starts",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.log_dir = "/proc/nothing/here";
  stage.start();
  co_await stage.end();
  CHECK(stage.failure() == errc::file_access);
  CHECK(stage.launcher->started.empty());
}

TIME_TEST("agent: a rendezvous not left in order is said, the result stands", "[agent]") {
  agent_stage stage(time);
  const auto failure =
      std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone"));
  SECTION("close") { stage.rendezvous->close_failure = failure; }
  SECTION("shutdown") { stage.rendezvous->shutdown_failure = failure; }
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.log->has("the store is gone", elastic::log_level::warning));
  // A handler that cannot close still has to end what it runs.
  CHECK(stage.is_clean());
}

TEST_CASE("agent: what cannot be run is refused when it is made", "[agent]") {
  const auto refusal_of = [](const elastic::worker_spec& workers, bool has_rendezvous) {
    elastic::local_agent::options options;
    options.workers = workers;
    if (has_rendezvous) {
      options.rendezvous = std::make_shared<elastic::test::fake_rendezvous>(
          std::make_shared<std::vector<std::string>>());
    }
    try {
      elastic::local_agent agent(options);
      return std::error_code();
    } catch (const elastic::error& refusal) {
      return refusal.code();
    }
  };
  elastic::worker_spec good_spec;
  good_spec.program = "trainer";
  CHECK(refusal_of(good_spec, true) == std::error_code());
  CHECK(refusal_of(good_spec, false) == errc::invalid_argument);
  elastic::worker_spec bad_spec = good_spec;
  bad_spec.program = "";
  CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
  for (const int size : {0, -1, elastic::limits::local_world_size + 1}) {
    bad_spec = good_spec;
    bad_spec.nproc_per_node = size;
    CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
  }
  bad_spec = good_spec;
  bad_spec.max_restarts = -1;
  CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
  bad_spec = good_spec;
  bad_spec.shutdown_timeout = -1s;
  CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
  bad_spec = good_spec;
  bad_spec.exit_barrier_timeout = -1s;
  CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
  bad_spec = good_spec;
  bad_spec.monitor_interval = 0s;
  CHECK(refusal_of(bad_spec, true) == errc::invalid_argument);
}

// ---- stop --------------------------------------------------------------------------------------

TIME_TEST("agent: stop before run starts nothing", "[agent]") {
  agent_stage stage(time);
  stage.agent().stop(stop_by(SIGINT, "SIGINT received"));
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.result().stop_signal == SIGINT);
  CHECK(stage.result().reason == "SIGINT received");
  CHECK(stage.story() == "shutdown");
}

TIME_TEST("agent: what keeps a node from meeting others is logged when it is seen", "[agent]") {
  agent_stage stage(time);
  stage.meeting = "the job needs 2 nodes";
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.quiet();
  co_await stage.pass(6s);
  CHECK(stage.log->has("still waiting for other nodes after 5 s: the job needs 2 nodes"));
  // What is found after the first line does not wait for the next one.
  stage.rendezvous->hindrance = "the registry is silent";
  co_await stage.pass(5s);
  CHECK(stage.log->has("still waiting after 10 s: the registry is silent"));
  co_await stage.pass(20s);
  CHECK_FALSE(stage.log->has("after 15 s"));
  CHECK_FALSE(stage.log->has("after 30 s"));
  co_await stage.pass(5s);
  CHECK(stage.log->has("still waiting after 35 s: the registry is silent"));
  stage.rendezvous->hindrance.clear();
  co_await stage.pass(25s);
  CHECK_FALSE(stage.log->has("after 60 s"));
  co_await stage.pass(5s);
  CHECK(stage.log->has("still waiting for other nodes after 65 s: the job needs 2 nodes"));
  stage.rendezvous->hindrance = "the registry is silent again";
  co_await stage.pass(5s);
  CHECK(stage.log->has("still waiting after 70 s: the registry is silent again"));
  stage.agent().stop({});
  co_await stage.quiet();
  REQUIRE(stage.ended());
}

TIME_TEST("agent: stop during the rendezvous leaves it", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.rendezvous->joining == 1);
  stage.agent().stop({});
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.story() == "round 0, shutdown");
  CHECK(stage.is_clean());
}

TIME_TEST("agent: nodes that never tell about their workers end the run", "[agent]") {
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    agent_stage stage(time);
    stage.rendezvous->group_world_size = 2;
    stage.rendezvous->group_rank = rank;
    stage.start();
    co_await stage.pass(300s - 1ns);
    CHECK_FALSE(stage.ended());
    co_await stage.end();
    CHECK(stage.failure() == errc::rendezvous_timeout);
    CHECK(stage.launcher->started.empty());
    CHECK(stage.is_clean());
  }
}

TIME_TEST("agent: a round that no backend may return ends the job, and names the backend",
          "[agent]") {
  struct bad_round {
    std::function<void(elastic::rendezvous_round&)> spoil;
    std::string fault;
  };
  const std::vector<bad_round> rounds = {
      {[](auto& round) { round.agents = nullptr; }, "without a store for its agents"},
      {[](auto& round) { round.group_world_size = 0; }, "of 0 nodes"},
      {[](auto& round) { round.group_rank = 1; }, "with group rank 1 of 1"},
      {[](auto& round) { round.restarts = -1; }, "with -1 restarts"}};
  for (const bad_round& bad : rounds) {
    agent_stage stage(time);
    stage.rendezvous->spoil = bad.spoil;
    stage.start();
    co_await stage.end();
    CHECK(stage.failure() == errc::rendezvous_state);
    CHECK(stage.failure_text() == "the rendezvous backend 'c10d' returned round 0 " + bad.fault);
    CHECK(stage.launcher->started.empty());
    CHECK(stage.is_clean());
  }
}

/// A store whose host is gone.
class gone_store : public elastic::store {
 public:
  task<void> set(std::string, std::string) override { return fail<void>(); }
  task<std::string> get(std::string) override { return fail<std::string>(); }
  task<std::int64_t> add(std::string, std::int64_t) override { return fail<std::int64_t>(); }
  task<std::string> compare_set(std::string, std::string, std::string) override {
    return fail<std::string>();
  }
  task<void> wait(elastic::key_list) override { return fail<void>(); }
  task<bool> check(elastic::key_list) override { return fail<bool>(); }
  task<bool> erase(std::string) override { return fail<bool>(); }
  task<std::int64_t> num_keys() override { return fail<std::int64_t>(); }
  task<void> append(std::string, std::string) override { return fail<void>(); }
  task<std::vector<std::string>> multi_get(elastic::key_list) override {
    return fail<std::vector<std::string>>();
  }
  task<void> multi_set(elastic::key_value_list) override {
    return fail<void>();
  }

 private:
  template <class T>
  static task<T> fail() {
    throw elastic::error(errc::connection_failed, "the host is gone");
    co_return co_await fail<T>();
  }
};

TIME_TEST("agent: where the agents' store is gone, the change that follows counts, not its error",
          "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.rendezvous->agents = std::make_shared<gone_store>();
  stage.rendezvous->on_round = [&](int round) {
    if (round == 0) return;
    stage.rendezvous->group_world_size = 1;
    stage.rendezvous->agents = std::make_shared<elastic::memory_store>();
  };
  stage.start();
  co_await stage.pass(1s);
  REQUIRE_FALSE(stage.ended());
  stage.rendezvous->change();
  co_await stage.quiet();
  REQUIRE(stage.launcher->running() == 2);
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

/// The connection to its host has broken unseen; the next one will do.
class stale_store final : public gone_store {
 public:
  task<void> set(std::string key, std::string value) override {
    if (std::exchange(is_stale_, false)) return gone_store::set(key, value);
    return inner_.set(std::move(key), std::move(value));
  }
  task<std::string> get(std::string key) override { return inner_.get(std::move(key)); }
  task<std::vector<std::string>> multi_get(elastic::key_list keys) override {
    return inner_.multi_get(std::move(keys));
  }
  task<void> multi_set(elastic::key_value_list pairs) override {
    return inner_.multi_set(std::move(pairs));
  }

 private:
  elastic::memory_store inner_;
  bool is_stale_ = true;
};

TIME_TEST("agent: a connection to the agents' store that had broken unseen ends no job",
          "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->agents = std::make_shared<stale_store>();
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: where the agents' store is gone and nothing follows, its error counts",
          "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.rendezvous->agents = std::make_shared<gone_store>();
  stage.start();
  co_await stage.pass(5s - 1ns);
  REQUIRE_FALSE(stage.ended());
  co_await stage.end();
  CHECK(stage.failure() == errc::connection_failed);
  CHECK(stage.launcher->started.empty());
  CHECK(stage.is_clean());
}

TIME_TEST("agent: stop while the ranks are exchanged leaves the rendezvous", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.start();
  co_await stage.pass(1min);
  stage.agent().stop({});
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.launcher->started.empty());
  CHECK(stage.is_clean());
}

TIME_TEST("agent: stop while the workers are started leaves none", "[agent]") {
  agent_stage stage(time);
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.launcher->running() == 1);
  stage.agent().stop({});
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.launcher->started.size() == 1);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: stop while the workers run gives them its signal, once", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::exit_with(0);
  };
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGINT, "SIGINT received"));
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.stop_signal == SIGINT);
  CHECK(result.reason == "SIGINT received");
  CHECK(result.failures.empty());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGINT});
  CHECK(stage.worker(1).signals == std::vector<int>{SIGINT});
  CHECK(stage.is_clean());
  // The job goes on without this node: it is left, not closed.
  CHECK(stage.story().find("close") == std::string::npos);
}

TIME_TEST("agent: workers that end by a stop are blamed for nothing", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGQUIT));
  co_await stage.end();
  REQUIRE(stage.result().failures.size() == 2);
  for (const auto& failure : stage.result().failures) CHECK(failure.stopped_by_agent);
}

TIME_TEST("agent: workers get their grace and are then killed", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  const auto begin = time.now();
  SECTION("the spec's") {
    stage.agent().stop({});
    co_await stage.pass(30s - 1ns);
    CHECK(stage.worker(0).signals == only_term);
    co_await stage.pass(1ns);
  }
  SECTION("the request's") {
    stop_request request;
    request.grace = 300s;
    stage.agent().stop(request);
    co_await stage.pass(300s - 1ns);
    CHECK(stage.worker(0).signals == only_term);
    co_await stage.pass(1ns);
  }
  SECTION("none") {
    stop_request request;
    request.grace = 0s;
    stage.agent().stop(request);
  }
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(time.now() - begin <= 300s);
  CHECK(stage.worker(0).signals.back() == SIGKILL);
  CHECK(stage.worker(1).signals.back() == SIGKILL);
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.result().failures.at(0).stopped_by_agent);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: the grace is one for all workers, and ends with the last of them", "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 3;
  stage.workers.shutdown_timeout = 10s;
  stage.launcher->on_start = [&time](fake_process& process) {
    if (process.index == 0) process.on_signal = fake_process::ignore_all();
    if (process.index == 1) process.on_signal = fake_process::exit_after(time, 9s);
  };
  stage.start();
  co_await stage.quiet();
  stage.worker(2).exit(1);
  co_await stage.pass(9s);
  co_await stage.quiet();
  CHECK(stage.worker(0).running());
  CHECK_FALSE(stage.worker(1).running());
  co_await stage.pass(1s);
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM, SIGKILL});
  CHECK(stage.worker(1).signals == only_term);
}

TIME_TEST("agent: a second stop kills at once", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGINT, "first"));
  co_await stage.pass(1s);
  REQUIRE_FALSE(stage.ended());
  // One that is stopped could not follow the signal.
  CHECK(stage.worker(0).continued);
  stage.agent().stop(stop_by(SIGINT, "second"));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGINT, SIGKILL});
  CHECK(stage.worker(1).signals == std::vector<int>{SIGINT, SIGKILL});
  CHECK(stage.result().stop_signal == SIGINT);
  CHECK(stage.result().reason == "first");
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a second stop that does not escalate leaves the first as it is", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM, "first"));
  co_await stage.pass(1s);
  elastic::stop_request repeated_request = stop_by(SIGTERM, "second");
  repeated_request.escalates = false;
  stage.agent().stop(repeated_request);
  co_await stage.quiet();
  CHECK_FALSE(stage.ended());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  stage.agent().stop(stop_by(SIGINT, "third"));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().reason == "first");
  CHECK(stage.is_clean());
}

TIME_TEST("agent: two stops at the same moment kill", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGTERM));
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  for (const auto& failure : stage.result().failures) CHECK(failure.stopped_by_agent);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a stop by SIGKILL kills at once", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.agent().stop(stop_by(SIGKILL));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.worker(0).signals == std::vector<int>{SIGKILL});
  for (const auto& failure : stage.result().failures) CHECK(failure.stopped_by_agent);
}

TIME_TEST("agent: a stop while a failed group ends forwards its signal and ends the job",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 3;
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore(SIGTERM);
  };
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.pass(5s);
  CHECK(stage.worker(1).signals == only_term);
  stage.agent().stop(stop_by(SIGINT));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.worker(1).signals == std::vector<int>{SIGTERM, SIGINT});
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.launcher->started.size() == 2);
  // Worker 1 died of the signal that was passed on, worker 0 of its own doing.
  REQUIRE(stage.result().failures.size() == 2);
  CHECK_FALSE(stage.result().failures[0].stopped_by_agent);
  CHECK(stage.result().failures[1].stopped_by_agent);
}

TIME_TEST("agent: a stop while a failed group ends has a grace of its own", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 3;
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.pass(5s);
  const auto stop_time = time.now();
  stop_request request;
  request.grace = 2s;
  stage.agent().stop(request);
  while (!stage.ended()) co_await stage.pass(100ms);
  CHECK(time.now() - stop_time <= 2100ms);
  const std::vector<int> expected_signals{SIGTERM, SIGTERM, SIGKILL};
  CHECK(stage.worker(1).signals == expected_signals);
}

TIME_TEST("agent: a stop during a membership restart ends the job", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [&time](fake_process& process) {
    process.on_signal = fake_process::exit_after(time, 20s);
  };
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.pass(1s);
  stage.agent().stop(stop_by(SIGTERM));
  co_await stage.end();
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.launcher->started.size() == 2);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a stop while it winds up after an error is heeded", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->break_down(
      std::make_exception_ptr(elastic::error(errc::connection_failed, "the store is gone")));
  co_await stage.pass(1s);
  REQUIRE_FALSE(stage.ended());
  stage.agent().stop(stop_by(SIGKILL));
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.failure() == errc::connection_failed);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: stop after run has no effect", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  stage.agent().stop({});
  co_await stage.quiet();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent: runs once", "[agent]") {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  std::error_code refusal_code;
  try {
    co_await stage.agent().run();
  } catch (const elastic::error& refusal) {
    refusal_code = refusal.code();
  }
  CHECK(refusal_code == errc::invalid_argument);
  CHECK(stage.launcher->started.size() == 2);
}

TEST_CASE("agent: stop after its context is gone has no effect", "[agent]") {
  std::unique_ptr<elastic::local_agent> agent;
  {
    asio::io_context context;
    elastic::local_agent::options options;
    options.workers.program = "trainer";
    options.workers.log_dir = "/dev/null";
    auto launcher = std::make_shared<elastic::test::fake_launcher>();
    launcher->on_start = [](fake_process& process) { process.exit(0); };
    options.services.launcher = launcher;
    options.rendezvous = std::make_shared<elastic::test::fake_rendezvous>(launcher->notes);
    agent = std::make_unique<elastic::local_agent>(std::move(options));
    worker_state state = worker_state::init;
    asio::co_spawn(context, agent->run(),
                   [&](std::exception_ptr, const run_result& result) { state = result.state; });
    context.run();
    REQUIRE(state == worker_state::succeeded);
  }
  agent->stop({});
}

// ---- the exit barrier --------------------------------------------------------------------------

// Two agents of one job: what they share, and how they are told apart.
struct two_nodes {
  agent_stage first;
  agent_stage second;
  explicit two_nodes(elastic::test::manual_time& time) : first(time), second(time) {
    second.rendezvous->agents = first.rendezvous->agents;
    second.rendezvous->group_rank = 1;
    first.rendezvous->group_world_size = 2;
    second.rendezvous->group_world_size = 2;
    first.workers.nproc_per_node = 1;
    second.workers.nproc_per_node = 1;
  }
};

TIME_TEST("agent: one that is ready waits for the others at the exit barrier", "[agent]") {
  two_nodes nodes(time);
  nodes.first.start();
  nodes.second.start();
  co_await nodes.first.quiet();
  nodes.first.worker(0).exit(0);
  co_await nodes.first.pass(299s);
  CHECK_FALSE(nodes.first.ended());
  CHECK(nodes.first.launcher->all_gone());
  nodes.second.worker(0).exit(0);
  co_await nodes.first.quiet();
  CHECK(nodes.first.ended());
  CHECK(nodes.second.ended());
  CHECK(nodes.first.result().state == worker_state::succeeded);
  CHECK(nodes.second.result().state == worker_state::succeeded);
  CHECK_FALSE(nodes.first.log->has("barrier"));
}

TIME_TEST("agent: the exit barrier has a time-out, which is not a failure", "[agent]") {
  two_nodes nodes(time);
  nodes.first.workers.exit_barrier_timeout = 60s;
  nodes.first.start();
  nodes.second.start();
  co_await nodes.first.quiet();
  nodes.first.worker(0).exit(0);
  co_await nodes.first.pass(60s - 1ns);
  CHECK_FALSE(nodes.first.ended());
  co_await nodes.first.pass(1ns);
  co_await nodes.first.quiet();
  REQUIRE(nodes.first.ended());
  CHECK(nodes.first.result().state == worker_state::succeeded);
  CHECK(nodes.first.log->has("exit barrier", elastic::log_level::warning));
  CHECK(nodes.first.is_clean());
  nodes.second.worker(0).exit(0);
  co_await nodes.second.end();
  CHECK(nodes.second.result().state == worker_state::succeeded);
}

TIME_TEST("agent: the longest time-out of the exit barrier never ends", "[agent]") {
  two_nodes nodes(time);
  nodes.first.workers.exit_barrier_timeout = elastic::duration::max();
  nodes.first.start();
  nodes.second.start();
  co_await nodes.first.quiet();
  nodes.first.worker(0).exit(0);
  co_await nodes.first.pass(1h);
  CHECK_FALSE(nodes.first.ended());
  nodes.second.worker(0).exit(0);
  co_await nodes.second.end();
  co_await nodes.first.quiet();
  REQUIRE(nodes.first.ended());
  CHECK(nodes.first.result().state == worker_state::succeeded);
  CHECK_FALSE(nodes.first.log->has("barrier"));
}

TIME_TEST("agent: a stop at the exit barrier ends the wait; the work was done", "[agent]") {
  two_nodes nodes(time);
  nodes.first.start();
  nodes.second.start();
  co_await nodes.first.quiet();
  nodes.first.worker(0).exit(0);
  co_await nodes.first.pass(1s);
  nodes.first.agent().stop(stop_by(SIGTERM));
  co_await nodes.first.quiet();
  REQUIRE(nodes.first.ended());
  CHECK(nodes.first.result().state == worker_state::succeeded);
  CHECK(nodes.first.is_clean());
  nodes.second.agent().stop({});
  co_await nodes.second.end();
}

TIME_TEST("agent: a store that fails at the exit barrier is said, the work was done", "[agent]") {
  agent_stage stage(time);
  co_await stage.rendezvous->agents->set("round_0/torchelastic/agent/terminal_state/num_members",
                                         "no number");
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.log->has("at the end", elastic::log_level::warning));
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a job that succeeds meanwhile ends the wait at the exit barrier", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->group_world_size = 2;
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  co_await stage.rendezvous->agents->set(
      "round_0/torchelastic/role/agent_info/1",
      R"({"role": "default", "rank": 1, "local_world_size": 2})");
  stage.start();
  co_await stage.pass(1s);
  REQUIRE_FALSE(stage.ended());
  stage.rendezvous->break_down(
      std::make_exception_ptr(elastic::error(errc::rendezvous_finished, "all workers succeeded")));
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK_FALSE(stage.log->has("at the end", elastic::log_level::warning));
  CHECK(stage.is_clean());
}

TIME_TEST("agent: one that failed does not wait at the exit barrier", "[agent]") {
  two_nodes nodes(time);
  nodes.first.start();
  nodes.second.start();
  co_await nodes.first.quiet();
  nodes.first.worker(0).exit(1);
  co_await nodes.first.quiet();
  CHECK(nodes.first.ended());
  CHECK(nodes.first.result().state == worker_state::failed);
  nodes.second.worker(0).exit(0);
  co_await nodes.second.end();
}

}  // namespace local_agent_tests

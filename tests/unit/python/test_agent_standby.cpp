// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// An agent and its standbys, whose processes the test plays: when standbys are made, and what waits
// for them.

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/python/detail/planned_restart.hpp>
#include <elastic/python/detail/standby_message.hpp>
#include <elastic/python/detail/standby_plan.hpp>
#include <elastic/python/warm_standby.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace agent_standby_test {

using namespace std::chrono_literals;
using detail::unique_fd;
using test::agent_stage;
using test::fake_process;

TEST_CASE("warm_standby: an agent has the standbys of one set of terms", "[standby]") {
  agent_services services;
  warm_standby terms;
  add_warm_standbys(services, terms);
  REQUIRE(services.parts.size() == 1);
  CHECK_THROWS_AS(add_warm_standbys(services, terms), error);
  agent_services others;
  terms.modules = {"not a module"};
  CHECK_THROWS_AS(add_warm_standbys(others, terms), error);
  CHECK(others.parts.empty());
}

TIME_TEST("warm_standby: the services of an agent serve the next one, too", "[agent][standby]") {
  std::optional<agent_stage> stage;
  agent_services services;
  add_warm_standbys(services, warm_standby());
  for (int run = 0; run < 2; ++run) {
    stage.emplace(time);
    stage->workers.nproc_per_node = 1;
    stage->parts = services.parts;
    stage->start();
    co_await stage->quiet();
    stage->worker(0).exit(0);
    co_await stage->end();
    CHECK(stage->result().starts.all() == 1);
    CHECK(stage->is_clean());
  }
}

TEST_CASE("planned_restart: who waits for standbys, and how long", "[agent][standby]") {
  struct row {
    rendezvous_change::cause change;
    duration grace;
    std::size_t cold_workers;
    std::optional<std::string> off_reason;
    duration patience;
    std::string reason;
    bool is_pause = false;
  };
  const duration no_limit = duration::max();
  const row table[] = {
      {rendezvous_change::cause::node_waiting,
       no_limit,
       2,
       {},
       10s,
       "2 of them have no standby yet"},
      {rendezvous_change::cause::node_lost, no_limit, 2, {}, 2s, "2 of them have no standby yet"},
      {rendezvous_change::cause::node_waiting, no_limit, 0, {}, 0s, "every worker has a standby"},
      {rendezvous_change::cause::node_lost,
       9s,
       2,
       {},
       0s,
       "the others may continue without this node"},
      {rendezvous_change::cause::worker_failed, no_limit, 2, {}, 0s, "workers have failed"},
      {rendezvous_change::cause::node_waiting, no_limit, 2, {}, 0s, "the job pauses", true},
      {rendezvous_change::cause::node_waiting, no_limit, 2, "x", 0s,
       "there are to be no standbys: x"},
  };
  for (const row& entry : table) {
    const auto plan = detail::plan_restart(
        {entry.change, entry.grace, entry.cold_workers, entry.off_reason, entry.is_pause});
    CAPTURE(entry.reason);
    CHECK(plan.delay == entry.patience);
    CHECK(plan.reason == entry.reason);
  }
}

/// An agent with one worker, and the other ends of its standbys' sockets.
class standby_stage : public agent_stage {
 public:
  explicit standby_stage(test::manual_time& clock) : agent_stage(clock) {
    workers.arguments = {"train.py"};
    workers.nproc_per_node = 1;
    workers.max_restarts = 1;
    warm_standby terms;
    terms.modules = {"torch"};
    agent_services services;
    add_warm_standbys(services, terms);
    parts = services.parts;
    launcher->on_start = [this](fake_process& process) {
      const bool is_standby = process.variable("ELASTIC_STANDBY") != "<not set>";
      sockets.emplace_back(is_standby ? ::fcntl(process.spec.stdin_fd, F_DUPFD_CLOEXEC, 3) : -1);
    };
  }

  void say(std::size_t index, const std::string& bytes) {
    CHECK(::send(sockets.at(index).get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  void be_ready(std::size_t index) {
    detail::standby_message message;
    message.pid = worker(index).pid;
    say(index, detail::bytes_of(message));
  }

  void hang_up(std::size_t index) {
    sockets.at(index).reset();
    worker(index).exit(0);
  }

  std::size_t start_count() const { return launcher->started.size(); }

  /// What the journal has of the last start of workers.
  std::string last_start() const {
    std::string text;
    for (const journal_record& record : journal->after(0)) {
      if (record.event.kind == job_event::type::workers_started) text = record.event.reason;
    }
    return text;
  }

  /// By process.
  std::vector<unique_fd> sockets;
};

TIME_TEST("agent: if a node joins the workers go on until their standbys are ready",
          "[agent][standby]") {
  standby_stage stage(time);
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 1);
  CHECK(stage.last_start() == "1 cold, because it is the first start");
  stage.rendezvous->change();
  co_await stage.quiet();
  // The probe, long before the delay.
  REQUIRE(stage.start_count() == 2);
  stage.be_ready(1);
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 3);
  CHECK(stage.worker(0).running());
  CHECK(stage.worker(0).signals.empty());
  std::string expected_start = "1 cold, because no standby was ready";
  std::size_t next_index = 3;
  SECTION("they are") {
    stage.be_ready(2);
    co_await stage.quiet();
    CHECK_FALSE(stage.worker(0).running());
    stage.say(2, "prepared");
    expected_start = "1 warm";
    next_index = 2;
  }
  SECTION("they are not within 10 s") {
    co_await stage.pass(detail::planned_restart::patience - 1ms);
    CHECK(stage.worker(0).running());
    co_await stage.pass(1ms);
    co_await stage.quiet();
    CHECK_FALSE(stage.worker(0).running());
  }
  SECTION("the workers fail meanwhile, which counts as no failure") { stage.worker(0).exit(1); }
  SECTION("they end meanwhile") { stage.hang_up(2); }
  co_await stage.quiet();
  CHECK(stage.start_count() == next_index + 1);
  CHECK(stage.last_start() == expected_start);
  CHECK(stage.worker(next_index).running());
  stage.worker(next_index).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 0);
  CHECK(stage.result().starts.all() == 2);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: a node that is bound to be missed joins when its standbys are ready",
          "[agent][standby]") {
  standby_stage stage(time);
  stage.job_may_grow = true;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 1);
  stage.be_ready(0);
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 2);
  CHECK(stage.story() == "start 0, end 0: SIGKILL, start 1");
  SECTION("they are") {
    stage.be_ready(1);
    co_await stage.quiet();
    stage.say(1, "prepared");
    co_await stage.quiet();
    CHECK(stage.last_start() == "1 warm");
    CHECK(stage.start_count() == 2);
    stage.worker(1).exit(0);
  }
  SECTION("they are not in time") {
    co_await stage.pass(detail::standby_plan::join_patience - 1ms);
    CHECK(stage.story() == "start 0, end 0: SIGKILL, start 1");
    co_await stage.pass(1ms);
    co_await stage.quiet();
    REQUIRE(stage.start_count() == 3);
    CHECK(stage.last_start() == "1 cold, because it is the first start");
    stage.worker(2).exit(0);
  }
  SECTION("a stop is requested") { stage.agent().stop({}); }
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent: while the others are waited for standbys are made, also for the first start",
          "[agent][standby]") {
  standby_stage stage(time);
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.pass(detail::standby_plan::meeting_patience - 1ms);
  CHECK(stage.start_count() == 0);
  co_await stage.pass(1ms);
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 1);
  stage.be_ready(0);
  co_await stage.quiet();
  stage.be_ready(1);
  co_await stage.quiet();
  stage.rendezvous->let_meet();
  co_await stage.quiet();
  stage.say(1, "prepared");
  co_await stage.quiet();
  CHECK(stage.last_start() == "1 warm");
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().starts.warm == 1);
  CHECK(stage.is_clean());
}

/// "0 ready, 1 making; 1 ready, 0 making".
std::string pools_in(const standby_stage& stage) {
  std::string text;
  for (const journal_record& record : stage.journal->after(0)) {
    if (record.event.kind != job_event::type::standbys_changed) continue;
    text += fmt::format("{}{} ready, {} making", text.empty() ? "" : "; ",
                        record.event.count.value_or(-1), record.event.making.value_or(-1));
  }
  return text;
}

TIME_TEST("agent: standbys are made as soon as all workers of the node have reported a step",
          "[agent][standby]") {
  standby_stage stage(time);
  stage.workers.nproc_per_node = 2;
  const bool replaces_workers = GENERATE(false, true);
  if (replaces_workers) stage.workers.on_failure = failure_policy::replace;
  stage.start();
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 2);
  test::channel_peer peer_0(stage.worker(0).variable("ELASTIC_CONTROL"), 0);
  test::channel_peer peer_1(stage.worker(1).variable("ELASTIC_CONTROL"), 1);
  peer_0.say(R"({"kind":"progress","step":1,"automatic":true})");
  peer_0.say(R"({"kind":"progress","step":2,"automatic":true})");
  co_await stage.pass(1s);
  CHECK(stage.start_count() == 2);
  peer_1.say(R"({"kind":"progress","step":1,"automatic":true})");
  co_await stage.pass(1s);
  REQUIRE(stage.start_count() == 3);
  stage.be_ready(2);
  co_await stage.pass(1s);
  stage.be_ready(3);
  co_await stage.pass(1s);
  CHECK(pools_in(stage) == "0 ready, 1 making; 1 ready, 0 making");
  // If only one worker starts again, one standby is enough.
  CHECK(stage.start_count() == (replaces_workers ? 4 : 5));
  stage.agent().stop({});
  co_await stage.end();
  CHECK(pools_in(stage).ends_with("; 0 ready, 0 making"));
  CHECK(stage.is_clean());
}

TIME_TEST("agent: while survivors wait for a round there are no more standbys than beside workers",
          "[agent][standby]") {
  standby_stage stage(time);
  stage.workers.nproc_per_node = 3;
  stage.workers.on_failure = failure_policy::replace;
  stage.start();
  co_await stage.quiet();
  test::channel_peer peer_0(stage.worker(0).variable("ELASTIC_CONTROL"), 0);
  test::channel_peer peer_1(stage.worker(1).variable("ELASTIC_CONTROL"), 1);
  test::channel_peer peer_2(stage.worker(2).variable("ELASTIC_CONTROL"), 2);
  for (test::channel_peer* peer : {&peer_0, &peer_1, &peer_2}) peer->say(R"({"kind":"survive"})");
  co_await stage.pass(1s);
  stage.rendezvous->hold_at = 1;
  stage.worker(2).end(exit_status::signalled(SIGKILL));
  co_await stage.pass(1s);
  peer_0.say(R"({"kind":"ready","epoch":0})");
  peer_1.say(R"({"kind":"ready","epoch":0})");
  co_await stage.pass(1s);
  // Without a delay, but only one.
  REQUIRE(stage.start_count() == 4);
  stage.be_ready(3);
  co_await stage.pass(1s);
  stage.be_ready(4);
  co_await stage.pass(1s);
  CHECK(stage.start_count() == 5);
  stage.rendezvous->let_meet();
  co_await stage.pass(1s);
  stage.say(4, "prepared");
  co_await stage.pass(1s);
  CHECK(stage.last_start() == "1 warm");
  CHECK(stage.start_count() == 5);
  stage.agent().stop({});
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("agent: standbys are made during the wait before a restart", "[agent][standby]") {
  standby_stage stage(time);
  stage.workers.restart.delay = 5s;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.quiet();
  co_await stage.pass(detail::standby_plan::meeting_patience);
  co_await stage.quiet();
  REQUIRE(stage.start_count() == 2);
  stage.be_ready(1);
  co_await stage.quiet();
  stage.be_ready(2);
  co_await stage.pass(5s);
  stage.say(2, "prepared");
  co_await stage.quiet();
  CHECK(stage.last_start() == "1 warm");
  stage.worker(2).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

}  // namespace agent_standby_test

}  // namespace
}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/run/run_activity.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace agent_journal_tests {

using namespace std::chrono_literals;
using namespace elastic;
using elastic::test::agent_stage;
using elastic::test::channel_peer;

/// The events of a kind that the journal was told, in their order.
std::vector<job_event> events_of(const agent_stage& stage, job_event::type kind) {
  std::vector<job_event> events;
  for (const journal_record& record : stage.journal->after(0)) {
    if (record.event.kind == kind) events.push_back(record.event);
  }
  return events;
}

/// What `job::view` shows after these events.
detail::run_activity activity_of(const agent_stage& stage) {
  detail::run_activity activity;
  for (const journal_record& record : stage.journal->after(0)) activity.take(record.event, {});
  return activity;
}

TIME_TEST("agent: the journal of a job that succeeds", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.decisions() ==
        "agent_started rendezvous_started round_joined workers_starting workers_started "
        "worker_ended worker_ended workers_judged exit_barrier_started exit_barrier_ended "
        "agent_ended");
  const auto start_events = events_of(stage, job_event::type::workers_started);
  CHECK(start_events[0].pids.size() == 2);
  CHECK(start_events[0].world_size == 2);
  CHECK(start_events[0].round == 0);
  CHECK(start_events[0].attempt == 0);
  CHECK(events_of(stage, job_event::type::agent_started)[0].backend == "c10d");
  CHECK(events_of(stage, job_event::type::workers_judged)[0].state == "succeeded");
  CHECK(events_of(stage, job_event::type::exit_barrier_ended)[0].state == "passed");
  CHECK(events_of(stage, job_event::type::agent_ended)[0].state == "succeeded");
}

TIME_TEST("agent: the journal tells the cause of a restart, and what it cost", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  stage.worker(1).exit(7);
  co_await stage.quiet();
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.decisions() ==
        "agent_started rendezvous_started round_joined workers_starting workers_started "
        "worker_ended workers_judged round_ended restart_decided workers_stopping workers_stopped "
        "rendezvous_started round_joined workers_starting workers_started worker_ended "
        "worker_ended workers_judged exit_barrier_started exit_barrier_ended agent_ended");
  const job_event cause = events_of(stage, job_event::type::worker_ended)[0];
  CHECK(cause.rank == 1);
  CHECK(cause.exit_code == 7);
  CHECK_FALSE(cause.signal);
  CHECK(cause.reason == "exit code 7");
  const job_event change = events_of(stage, job_event::type::round_ended)[0];
  CHECK(change.state == "worker_failed");
  CHECK(change.restarts == 1);
  CHECK_FALSE(events_of(stage, job_event::type::restart_decided)[0].reason.empty());
  const job_event stop_event = events_of(stage, job_event::type::workers_stopped)[0];
  CHECK(stop_event.count == 1);
  CHECK(stop_event.signal == SIGTERM);
  CHECK(stop_event.allowed == 30.0);
  CHECK(events_of(stage, job_event::type::workers_started)[1].attempt == 1);
}

TIME_TEST("agent: the journal tells the start before the end of a worker that ends early",
          "[agent]") {
  agent_stage stage(time);
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  co_await stage.pass(3s);
  CHECK(stage.decisions() == "agent_started rendezvous_started round_joined workers_starting");
  stage.launcher->let_go();
  co_await stage.quiet();
  CHECK(stage.decisions() ==
        "agent_started rendezvous_started round_joined workers_starting workers_started "
        "worker_ended");
  CHECK(events_of(stage, job_event::type::workers_started)[0].seconds == 3.0);
  CHECK(events_of(stage, job_event::type::workers_started)[0].pids.size() == 2);
  const detail::run_activity state = activity_of(stage);
  REQUIRE(state.workers.size() == 2);
  CHECK(state.workers[0].end == exit_status::exited(0));
  CHECK_FALSE(state.workers[0].is_running);
  CHECK(state.workers[1].is_running);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(events_of(stage, job_event::type::worker_ended).size() == 2);
}

TIME_TEST("agent: the journal tells early ends in their order, also of workers that fail at once",
          "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 3;
  stage.launcher->hold_at = 0;
  stage.start();
  co_await stage.quiet();
  stage.launcher->on_start = [](test::fake_process& process) { process.exit(9); };
  stage.worker(1).exit(8);
  co_await stage.quiet();
  stage.worker(0).exit(7);
  co_await stage.quiet();
  stage.launcher->let_go();
  co_await stage.end();
  std::vector<std::int64_t> codes;
  for (const job_event& end : events_of(stage, job_event::type::worker_ended)) {
    codes.push_back(end.exit_code.value_or(-1));
  }
  CHECK(codes == std::vector<std::int64_t>{8, 7, 9});
  CHECK(stage.decisions().find("workers_started worker_ended") != std::string::npos);
}

TIME_TEST("agent: the journal tells the start before a worker that is hung early", "[agent]") {
  agent_stage stage(time);
  stage.workers.liveness.heartbeat_timeout = 10s;
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  channel_peer peer(stage.worker(0).variable("ELASTIC_CONTROL"), stage.worker(0).local_rank());
  peer.say(R"({"kind":"heartbeat"})");
  co_await stage.pass(11s);
  CHECK(stage.worker(0).signals == std::vector<int>{SIGKILL});
  CHECK(stage.decisions() == "agent_started rendezvous_started round_joined workers_starting");
  stage.launcher->let_go();
  co_await stage.end();
  CHECK(stage.decisions().find("workers_starting workers_started worker_hung worker_ended") !=
        std::string::npos);
  const auto hung = events_of(stage, job_event::type::worker_hung);
  REQUIRE(hung.size() == 1);
  CHECK(hung[0].rank == 0);
}

TIME_TEST("agent: the journal tells the end of a worker whose start was given up", "[agent]") {
  agent_stage stage(time);
  stage.launcher->hold_at = 1;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(3);
  co_await stage.quiet();
  stage.agent().stop(stop_request());
  co_await stage.end();
  CHECK(events_of(stage, job_event::type::workers_started).empty());
  const auto ends = events_of(stage, job_event::type::worker_ended);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].exit_code == 3);
}

TIME_TEST("agent: the journal tells a failure that is the last, and a node that came", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.quiet();
  stage.worker(2).end(exit_status::signalled(SIGKILL));
  co_await stage.end();
  const auto changes = events_of(stage, job_event::type::round_ended);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].state == "node_waiting");
  CHECK(changes[0].reason == "node b_1_0 waits to join");
  CHECK(changes[1].state == "worker_failed");
  CHECK(events_of(stage, job_event::type::worker_ended)[0].signal == SIGKILL);
  CHECK(events_of(stage, job_event::type::failure_decided).size() == 1);
  CHECK(events_of(stage, job_event::type::agent_ended)[0].state == "failed");
}

TIME_TEST("agent: the journal tells who asked to stop, and how long it took", "[agent]") {
  agent_stage stage(time);
  stage.workers.shutdown_timeout = 10s;
  stage.start();
  co_await stage.quiet();
  stage.worker(1).on_signal = test::fake_process::ignore(SIGTERM);
  stop_request request;
  request.reason = "SIGTERM received";
  stage.agent().stop(request);
  co_await stage.end();
  CHECK(events_of(stage, job_event::type::stop_requested)[0].reason == "SIGTERM received");
  const job_event stop_event = events_of(stage, job_event::type::workers_stopped)[0];
  CHECK(stop_event.seconds == 10.0);
  CHECK(stop_event.allowed == 10.0);
  CHECK(events_of(stage, job_event::type::agent_ended)[0].state == "stopped");
}

TIME_TEST("agent: the journal tells the signal and the grace period of a request", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.agent().stop({.signal = SIGINT, .grace = 5s});
  co_await stage.end();
  for (const auto kind : {job_event::type::workers_stopping, job_event::type::workers_stopped}) {
    const auto events = events_of(stage, kind);
    REQUIRE(events.size() == 1);
    CHECK(events[0].signal == SIGINT);
    CHECK(events[0].allowed == 5.0);
  }
}

TIME_TEST("agent: the journal tells of a request during a stop that it changes it", "[agent]") {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  stage.worker(0).on_signal = test::fake_process::ignore(SIGTERM);
  stage.worker(1).exit(7);
  co_await stage.pass(2s);
  stage.agent().stop({.signal = SIGINT, .grace = 5s});
  co_await stage.end();
  const auto begun = events_of(stage, job_event::type::workers_stopping);
  REQUIRE(begun.size() == 2);
  CHECK(begun[0].signal == SIGTERM);
  CHECK(begun[0].allowed == 30.0);
  CHECK(begun[1].signal == SIGINT);
  CHECK(begun[1].allowed == 5.0);
  const auto ended = events_of(stage, job_event::type::workers_stopped);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].signal == SIGINT);
  CHECK(ended[0].allowed == 5.0);
  CHECK(ended[0].seconds == 2.0);
}

TIME_TEST("agent: the journal of a job that cannot meet says why", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->on_round = [](int) { throw error(errc::rendezvous_timeout, "nobody came"); };
  stage.start();
  co_await stage.end();
  CHECK(stage.decisions() == "agent_started rendezvous_started agent_ended");
  const job_event end = events_of(stage, job_event::type::agent_ended)[0];
  CHECK(end.state == "failed");
  CHECK(end.reason == "nobody came");
}

TIME_TEST("agent: the journal's file lies beside the logs, and stays if the job failed",
          "[agent]") {
  const test::temporary_directory folder;
  agent_stage stage(time);
  stage.workers.log_dir = folder.path();
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.end();
  const std::string directory = stage.result().log_directory;
  const auto journals = detail::find_journals(folder.path());
  REQUIRE(journals.size() == 1);
  CHECK(journals[0] == directory + "/journal.jsonl");
  const auto records = detail::read_journal(journals[0]).records;
  CHECK(records == stage.journal->after(0));
  CHECK(records.back().event.kind == job_event::type::agent_ended);
}

TIME_TEST("agent: of a temporary log directory the journal stays only if the job failed",
          "[agent]") {
  agent_stage failing_stage(time);
  failing_stage.workers.log_dir.clear();
  failing_stage.start();
  co_await failing_stage.quiet();
  failing_stage.worker(0).exit(1);
  co_await failing_stage.end();
  const std::string directory = failing_stage.result().log_directory;
  REQUIRE(std::filesystem::exists(directory + "/journal.jsonl"));
  std::filesystem::remove_all(std::filesystem::path(directory).parent_path());

  agent_stage stopped_stage(time);
  stopped_stage.workers.log_dir.clear();
  stopped_stage.start();
  co_await stopped_stage.quiet();
  stopped_stage.agent().stop({});
  co_await stopped_stage.end();
  CHECK(stopped_stage.result().log_directory.empty());
}

TIME_TEST("agent: a journal of its own name, and none", "[agent]") {
  const test::temporary_directory folder;
  agent_stage stage(time);
  stage.workers.journal = folder / "mine";
  stage.start();
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(detail::read_journal(folder / "mine").records.size() == 11);

  agent_stage silent_stage(time);
  silent_stage.workers.log_dir = folder / "logs";
  silent_stage.workers.journal = "/dev/null";
  silent_stage.start();
  co_await silent_stage.quiet();
  silent_stage.worker(0).exit(1);
  co_await silent_stage.end();
  CHECK(std::filesystem::exists(silent_stage.result().log_directory));
  CHECK_THROWS_WITH(detail::find_journals(folder / "logs"),
                    test::contains_text("no journal is in"));
}

}  // namespace agent_journal_tests

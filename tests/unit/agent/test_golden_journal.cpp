// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The records that an agent writes in virtual time, compared with tests/golden.

#include <elastic/agent/local_agent.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/golden_file.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace golden_journal_tests {

using namespace std::chrono_literals;
using namespace elastic;
using elastic::test::agent_stage;
using elastic::test::channel_peer;

/// The records of a job, sorted: the order of some of them is open. What differs between hosts and
/// runs, and sentences, are left out.
std::string records_of(const std::string& title, const agent_stage& stage) {
  std::vector<std::string> lines;
  for (const journal_record& record : stage.journal->after(0)) {
    nlohmann::json fields = nlohmann::json::parse(to_json_line(record));
    for (const char* name : {"seq", "epoch", "time_us", "node", "host", "kind"}) fields.erase(name);
    if (fields.contains("reason")) fields["reason"] = "TEXT";
    if (record.event.kind == job_event::type::agent_started) fields["pid"] = "PID";
    lines.push_back(fmt::format("{} {}", to_string(record.event.kind), fields.dump()));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("== {}\n{}\n", title, fmt::join(lines, "\n"));
}

/// Workers that are connected to the agent, by the order of their starts.
class connected_workers {
 public:
  explicit connected_workers(agent_stage& stage) : stage_(stage) {}

  channel_peer& join(std::size_t number) {
    const test::fake_process& worker = stage_.worker(number);
    peers_.push_back(std::make_unique<channel_peer>(worker.variable("ELASTIC_CONTROL"),
                                                    worker.local_rank(), true));
    return *peers_.back();
  }

 private:
  agent_stage& stage_;
  std::vector<std::unique_ptr<channel_peer>> peers_;
};

task<std::string> job_that_fails_twice(test::manual_time& time) {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.workers.restart.delay = 2s;
  stage.start();
  co_await stage.quiet();
  stage.worker(1).exit(7);
  co_await stage.pass(10s);
  stage.worker(2).end(exit_status::signalled(SIGKILL));
  co_await stage.end();
  co_return records_of("workers fail, and fail again after a restart", stage);
}

task<std::string> job_whose_members_change(test::manual_time& time) {
  agent_stage stage(time);
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->change();
  co_await stage.pass(1s);
  stage.rendezvous->fence();
  co_await stage.pass(1s);
  for (const std::size_t number : {4, 5}) stage.worker(number).exit(0);
  co_await stage.end();
  co_return records_of("a node joins, and the others may go on without this one", stage);
}

task<std::string> job_that_is_paused(test::manual_time& time) {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  connected_workers workers(stage);
  std::vector<channel_peer*> peers{&workers.join(0), &workers.join(1)};
  co_await stage.pass(1s);
  const auto send = [&](job_command::kind kind) {
    job_command command;
    command.what = kind;
    command.reason = "by a test";
    asio::co_spawn(time.context(), stage.agent().carry_out(command),
                   [](std::exception_ptr failure, job_command::outcome) { CHECK_FALSE(failure); });
  };
  send(job_command::kind::pause);
  co_await stage.pass(1s);
  for (channel_peer* const peer : peers) peer->say(R"({"kind":"saved","id":1})");
  co_await stage.pass(1s);
  send(job_command::kind::resume);
  co_await stage.pass(1s);
  stop_request request;
  request.signal = SIGTERM;
  request.reason = "SIGTERM received";
  stage.agent().stop(request);
  co_await stage.end();
  co_return records_of("a job is paused with a checkpoint, resumed and stopped", stage);
}

task<std::string> job_that_hangs(test::manual_time& time) {
  agent_stage stage(time);
  stage.workers.liveness.heartbeat_timeout = 10s;
  stage.start();
  co_await stage.quiet();
  connected_workers workers(stage);
  channel_peer& peer = workers.join(0);
  peer.say(R"({"kind":"heartbeat"})");
  peer.say(R"({"kind":"progress","step":5,"total":100})");
  co_await stage.end();
  co_return records_of("a worker hangs after a step", stage);
}

task<std::string> job_with_survivors(test::manual_time& time) {
  agent_stage stage(time);
  stage.workers.max_restarts = 3;
  stage.workers.on_failure = failure_policy::replace;
  stage.workers.rejoin_timeout = 10s;
  stage.start();
  co_await stage.quiet();
  connected_workers workers(stage);
  std::vector<channel_peer*> peers{&workers.join(0), &workers.join(1)};
  for (channel_peer* const peer : peers) peer->say(R"({"kind":"survive"})");
  peers[0]->say(R"({"kind":"progress","step":7,"total":100})");
  co_await stage.pass(1s);
  stage.worker(1).exit(3);
  co_await stage.pass(1s);
  peers[0]->say(R"({"kind":"ready","epoch":0})");
  co_await stage.pass(1s);
  peers[0]->say(R"({"kind":"progress","step":3,"total":100})");
  co_await stage.pass(1s);
  peers[0]->say(R"({"kind":"progress","step":7,"total":100})");
  co_await stage.pass(1s);
  // The newcomer does not say that it can rejoin.
  stage.worker(0).exit(4);
  co_await stage.pass(100s);
  for (const std::size_t number : {3, 4}) stage.worker(number).exit(0);
  co_await stage.end();
  co_return records_of("a rank is replaced, and then all workers restart", stage);
}

TIME_TEST("golden journal: the records of an agent", "[agent][golden]") {
  const std::string failing = co_await job_that_fails_twice(time);
  const std::string changing = co_await job_whose_members_change(time);
  const std::string paused = co_await job_that_is_paused(time);
  const std::string hanging = co_await job_that_hangs(time);
  const std::string surviving = co_await job_with_survivors(time);
  test::check_golden("golden/agent_journal.txt",
                     fmt::format("{}\n{}\n{}\n{}\n{}", failing, changing, paused, hanging,
                                 surviving));
}

}  // namespace golden_journal_tests

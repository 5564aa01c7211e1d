// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/chaos/chaos_monkey.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace chaos_monkey_tests {

using namespace std::chrono_literals;
using elastic::log_level;
using elastic::task;
using elastic::test::agent_stage;
using elastic::test::channel_peer;
using elasticrun::chaos_monkey;

/// An agent whose three workers are disturbed.
struct play {
  play(elastic::test::manual_time& time, const std::string& plan, bool replaces) : stage(time) {
    if (replaces) stage.workers.on_failure = elastic::failure_policy::replace;
    elastic::agent_services services;
    // The test owns the clock.
    services.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
    services.log = stage.log->log();
    services.journal = stage.journal;
    monkey = std::make_shared<chaos_monkey>(
        time.context().get_executor(), elastic::detail::parse_chaos_plan(plan), services, [] {});
    elastic::agent_services made;
    add_chaos(made, monkey);
    stage.parts = made.parts;
    stage.workers.nproc_per_node = 3;
    stage.workers.max_restarts = 3;
    stage.start();
    asio::co_spawn(time.context(), monkey->run(),
                   asio::bind_cancellation_slot(chaos.slot(), [](std::exception_ptr) {}));
  }

  /// A process says that it can rejoin.
  void join(std::size_t process) {
    const auto& worker = stage.worker(process);
    peers.push_back(
        std::make_unique<channel_peer>(worker.variable("ELASTIC_CONTROL"), worker.local_rank()));
    peers.back()->say(R"({"kind":"survive"})");
  }
  /// A process leaves an epoch.
  void leave(std::size_t peer, int epoch) {
    peers.at(peer)->say(fmt::format(R"({{"kind":"ready","epoch":{}}})", epoch));
  }

  task<void> finish(std::size_t first_process) {
    chaos.emit(asio::cancellation_type::terminal);
    for (std::size_t at = 0; at < stage.launcher->started.size(); ++at) {
      if (stage.worker(at).running()) stage.worker(at).exit(0);
    }
    co_await stage.end();
    CHECK(stage.launcher->started.size() == first_process);
  }

  agent_stage stage;
  std::shared_ptr<chaos_monkey> monkey;
  asio::cancellation_signal chaos;
  /// By the number of the process.
  std::vector<std::unique_ptr<channel_peer>> peers;
};

TIME_TEST("chaos monkey: a kill after which all workers start again", "[program]") {
  play job(time, "kill=rank:1@20s", false);
  co_await job.stage.pass(20s + 100ms);
  CHECK(job.stage.log->has("chaos: kill=rank:1@20s: SIGKILL sent to rank 1", log_level::warning));
  CHECK(job.stage.log->has("chaos: 3 workers run again 0.000 s after the last fault (round 1, "
                           "restarts 1)",
                           log_level::warning));
  co_await job.finish(6);
}

TIME_TEST("chaos monkey: kills after which a rank is replaced are counted as such", "[program]") {
  play job(time, "kill=rank:1@20s,kill=rank:2@40s,kill=rank:1@60s", true);
  co_await job.stage.quiet();
  for (const std::size_t process : {0, 1, 2}) job.join(process);
  co_await job.stage.pass(20s + 500ms);
  job.leave(0, 0);
  job.leave(2, 0);
  co_await job.stage.pass(1ms);
  CHECK(job.stage.log->has("chaos: rank 1 was replaced, and 3 workers run again 0.500 s after the "
                           "last fault (round 1, restarts 1; so far 1 replacement, 0 restarts of "
                           "all)",
                           log_level::warning));
  job.join(3);
  co_await job.stage.pass(20s);
  job.leave(0, 1);
  job.leave(3, 1);
  co_await job.stage.pass(1ms);
  CHECK(job.stage.log->has("so far 2 replacements, 0 restarts of all)", log_level::warning));
  job.join(4);
  // Those that live stay in their epoch for too long.
  co_await job.stage.pass(81s);
  CHECK(job.stage.log->has("chaos: 3 workers run again 60.000 s after the last fault (round 3, "
                           "restarts 3; so far 2 replacements, 1 restart of all)",
                           log_level::warning));
  co_await job.finish(8);
}

}  // namespace chaos_monkey_tests

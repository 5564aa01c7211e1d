// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What an agent reports about workers that are replaced while others continue.

#include <elastic/agent/detail/rounds/replacement_line.hpp>
#include <elastic/agent/detail/rounds/round_agreement.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace agent_replacement_tests {

using namespace std::chrono_literals;
using elastic::exit_status;
using elastic::job_event;
using elastic::log_level;
using elastic::run_result;
using elastic::task;
using elastic::worker_state;
using elastic::detail::end_clause;
using elastic::detail::replacement_line;
using elastic::test::agent_stage;
using elastic::test::channel_peer;
using elastic::test::contains_text;
using elastic::test::fake_process;

/// A worker that can rejoin, and has said so.
struct survivor : channel_peer {
  survivor(const fake_process& worker, bool saves)
      : channel_peer(worker.variable("ELASTIC_CONTROL"), worker.local_rank(), saves) {
    say(R"({"kind":"survive"})");
  }
  void leave(int epoch) { say(fmt::format(R"({{"kind":"ready","epoch":{}}})", epoch)); }
  void step(int number) {
    say(fmt::format(R"({{"kind":"progress","step":{},"total":100}})", number));
  }
};

struct start_recorder final : elastic::agent_part {
  std::vector<elastic::agent_part::started_workers> starts;
  /// Called when the nodes of a round have agreed on its epoch; the round goes on after its task.
  std::function<task<void>(std::int64_t round)> on_agreement;
  task<void> agree(elastic::rendezvous_round round, elastic::assigned_ranks) override {
    if (on_agreement) co_await on_agreement(round.round);
  }
  void started(const elastic::agent_part::started_workers& start) override {
    starts.push_back(start);
  }
};

/// Three workers that can rejoin.
struct play {
  explicit play(elastic::test::manual_time& time) : stage(time) {
    stage.workers.nproc_per_node = 3;
    stage.workers.max_restarts = 3;
    stage.workers.on_failure = elastic::failure_policy::replace;
    stage.workers.rejoin_timeout = 10s;
    stage.events = events;
    stage.attach(observer);
  }

  /// The process that was started as the `number`th says that it can rejoin.
  survivor& join(std::size_t number, bool saves = false) {
    peers.push_back(std::make_unique<survivor>(stage.worker(number), saves));
    return *peers.back();
  }

  std::vector<job_event> told(job_event::type kind) const {
    std::vector<job_event> events_of_kind;
    for (const auto& record : stage.journal->after(0)) {
      if (record.event.kind == kind) events_of_kind.push_back(record.event);
    }
    return events_of_kind;
  }

  /// The last event of a kind.
  job_event last(job_event::type kind) const {
    const auto all = told(kind);
    REQUIRE_FALSE(all.empty());
    return all.back();
  }

  std::ptrdiff_t count_events(const std::string& state) const {
    return std::count_if(events->events.begin(), events->events.end(),
                         [&](const auto& event) { return event.state == state; });
  }

  std::shared_ptr<elastic::test::event_recorder> events =
      std::make_shared<elastic::test::event_recorder>();
  std::shared_ptr<start_recorder> observer = std::make_shared<start_recorder>();
  std::vector<std::unique_ptr<survivor>> peers;
  agent_stage stage;
};

TIME_TEST("agent replacement: log, journal, events, observer and result tell of one that is killed",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  job.peers[0]->step(7);
  co_await job.stage.pass(10ms);
  CHECK(job.told(job_event::type::agent_started).front().state == "replace");
  CHECK(job.last(job_event::type::step_reached).step == 7);
  job.stage.worker(1).end(exit_status::signalled(SIGKILL));
  co_await job.stage.pass(300ms);
  CHECK(job.stage.log->has(
      "rank 1 (local rank 1, pid 1001) ended by signal 9 (SIGKILL); replacing it, the others keep "
      "their processes: restart 1 of 3",
      log_level::warning));
  CHECK(job.last(job_event::type::restart_decided).state == "replace");
  job.peers[0]->leave(0);
  job.peers[2]->leave(0);
  co_await job.stage.pass(10ms);
  REQUIRE(job.stage.launcher->started.size() == 4);
  const job_event told = job.last(job_event::type::ranks_replaced);
  CHECK(told.round == 1);
  CHECK(told.attempt == 1);
  CHECK(told.ranks == std::vector<std::int64_t>{1});
  CHECK(told.rank == 1);
  CHECK(told.count == 2);
  CHECK(told.state == "worker_failed");
  CHECK(told.reason == "rank 1 ended: SIGKILL");
  CHECK(told.seconds == 0.3);
  CHECK(job.told(job_event::type::workers_stopping).empty());
  CHECK(job.told(job_event::type::replacement_abandoned).empty());
  CHECK(job.stage.log->has(
      "rank 1 of this node has a new process after 0.300 s; the others continued",
      log_level::info));
  // Those that went on were not started.
  CHECK(job.count_events("START") == 4);
  CHECK(job.count_events("REPLACED") == 1);
  REQUIRE(job.observer->starts.size() == 2);
  CHECK(job.observer->starts[0].stayed == 0);
  CHECK(job.observer->starts[1].stayed == 2);
  CHECK(job.observer->starts[1].replaced == std::vector<int>{1});
  // The furthest step of before, which the one that had reported it may report again.
  job.peers[0]->step(6);
  co_await job.stage.pass(100ms);
  CHECK(job.told(job_event::type::step_reached).size() == 1);
  job.peers[0]->step(7);
  co_await job.stage.pass(10ms);
  CHECK(job.told(job_event::type::step_reached).size() == 2);
  CHECK(job.last(job_event::type::step_reached).seconds == 0.41);
  for (const std::size_t process : {0, 2, 3}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  const elastic::run_result result = job.stage.result();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.replacements.by_rank == std::map<int, int>{{1, 1}});
  CHECK(job.stage.log->has("rank 1 was replaced once", log_level::info));
  CHECK(job.stage.is_clean());
}

TIME_TEST("agent replacement: one that stays too long makes all start again, which is told",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.worker(1).exit(4);
  co_await job.stage.pass(10ms);
  job.peers[0]->leave(0);
  co_await job.stage.pass(59s);
  CHECK(job.told(job_event::type::replacement_abandoned).empty());
  co_await job.stage.pass(2s);
  CHECK(job.last(job_event::type::replacement_abandoned).reason ==
        "rank 2 did not leave its epoch in time");
  CHECK(job.told(job_event::type::ranks_replaced).empty());
  CHECK(job.stage.launcher->started.size() == 6);
  CHECK(job.count_events("START") == 6);
  CHECK(job.observer->starts.back().stayed == 0);
  for (const std::size_t process : {3, 4, 5}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().replacements.empty());
}

TIME_TEST("agent replacement: where one has not said that it can rejoin, nothing is announced",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 2; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.worker(0).exit(4);
  co_await job.stage.pass(10ms);
  CHECK(job.stage.log->has("restarting the workers: restart 1 of 3", log_level::warning));
  CHECK(job.last(job_event::type::restart_decided).state.empty());
  CHECK(job.last(job_event::type::replacement_abandoned).reason ==
        "rank 2 has not said that it can rejoin");
  for (const std::size_t process : {3, 4, 5}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
}

TIME_TEST("agent replacement: a change of the membership replaces nobody", "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  CHECK(job.stage.log->has(
      "node b_1_0 waits to join; the workers of this node keep their processes: the membership "
      "changed; this uses up no restart",
      log_level::warning));
  for (const auto& peer : job.peers) peer->leave(0);
  co_await job.stage.pass(10ms);
  const job_event told = job.last(job_event::type::ranks_replaced);
  CHECK(told.ranks.empty());
  CHECK_FALSE(told.rank);
  CHECK(told.count == 3);
  CHECK(told.state == "node_waiting");
  CHECK(job.stage.launcher->started.size() == 3);
  CHECK(job.observer->starts.back().stayed == 3);
  for (const std::size_t process : {0, 1, 2}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().replacements.empty());
}

/// Plays the other node of a round: it leads the exchange, and its workers cannot stay.
task<void> lead_without_survivors(play& job, std::int64_t round) {
  elastic::rendezvous_round met;
  met.round = round;
  met.group_world_size = 2;
  met.agents = std::make_shared<elastic::prefix_store>(fmt::format("round_{}", round),
                                                       job.stage.rendezvous->agents);
  elastic::detail::node_epoch last;
  last.round = round - 1;
  last.obstacle = "rank 0 has not said that it can rejoin";
  elastic::role_info role;
  role.role = "default";
  role.local_world_size = 1;
  task<elastic::detail::round_agreement> agreeing =
      elastic::detail::agree_on_round(job.stage.time.share(), std::move(met), role, last);
  co_await std::move(agreeing);
}

TIME_TEST("agent replacement: the fence kills those that are still in the epoch, and no other",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  // The first was in a collective with a rank of the node that is lost; the last computes.
  job.peers[0]->say(R"({"kind":"ask","epoch":0,"reason":"reset by peer"})");
  co_await job.stage.pass(150ms);
  job.stage.rendezvous->what = {elastic::rendezvous_change::cause::node_lost, "it is away"};
  job.stage.rendezvous->what.grace = 75ms;
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  job.peers[1]->leave(0);
  co_await job.stage.pass(65ms);
  job.stage.rendezvous->fence();
  co_await job.stage.pass(1s);
  CHECK(job.stage.worker(0).signals.empty());
  CHECK(job.stage.worker(1).signals.empty());
  CHECK(job.stage.worker(2).signals == std::vector<int>{SIGKILL});
  CHECK(job.told(job_event::type::fence_reached).size() == 1);
  job.peers[0]->leave(0);
  co_await job.stage.pass(10ms);
  const job_event told = job.last(job_event::type::ranks_replaced);
  CHECK(told.ranks == std::vector<std::int64_t>{2});
  CHECK(told.count == 2);
  CHECK(told.attempt == 0);
  CHECK(job.told(job_event::type::replacement_abandoned).empty());
  CHECK(job.stage.launcher->started.size() == 4);
  for (const std::size_t process : {0, 1, 3}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().state == worker_state::succeeded);
  CHECK(job.stage.is_clean());
}

TIME_TEST("agent replacement: a fence while survivors are being stopped lets no worker start",
          "[agent]") {
  play job(time);
  job.stage.workers.shutdown_timeout = 6s;
  job.stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  job.stage.rendezvous->spoil = [](elastic::rendezvous_round& round) {
    if (round.round != 1) return;
    round.group_rank = 1;
    round.group_world_size = 2;
  };
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  for (const auto& peer : job.peers) peer->leave(0);
  co_await lead_without_survivors(job, 1);
  co_await job.stage.pass(1s);
  CHECK(job.stage.worker(0).signals == std::vector<int>{SIGTERM});
  job.stage.rendezvous->fence();
  co_await job.stage.pass(6s);
  CHECK(job.stage.launcher->all_gone());
  CHECK(job.stage.launcher->started.size() == 3);
  // It learns why the round ended, and takes part in the next one.
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  REQUIRE(job.stage.launcher->started.size() == 6);
  for (const std::size_t process : {3, 4, 5}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().state == worker_state::succeeded);
  CHECK(job.stage.is_clean());
}

TIME_TEST("agent replacement: all restart though the round breaks in which the nodes agreed on it",
          "[agent]") {
  play job(time);
  job.stage.rendezvous->spoil = [](elastic::rendezvous_round& round) {
    if (round.round != 1) return;
    round.group_rank = 1;
    round.group_world_size = 2;
  };
  job.observer->on_agreement = [&](std::int64_t round) -> task<void> {
    if (round == 1) co_await time.sleep_until(elastic::time_point::max());
  };
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  for (const auto& peer : job.peers) peer->leave(0);
  co_await lead_without_survivors(job, 1);
  co_await job.stage.pass(1s);
  CHECK(job.stage.launcher->started.size() == 3);
  job.stage.rendezvous->change();
  co_await job.stage.pass(10ms);
  CHECK(job.stage.launcher->started.size() == 6);
  CHECK(job.last(job_event::type::replacement_abandoned).reason ==
        "rank 0 has not said that it can rejoin");
  CHECK(job.told(job_event::type::ranks_replaced).empty());
  for (const std::size_t process : {3, 4, 5}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.is_clean());
}

TIME_TEST("agent replacement: a job that fails in the end says how often ranks were replaced",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  for (int epoch = 0; epoch < 4; ++epoch) {
    const std::size_t victim = epoch == 0 ? 1 : static_cast<std::size_t>(epoch) + 2;
    job.stage.worker(victim).exit(9);
    co_await job.stage.pass(10ms);
    if (epoch == 3) break;
    job.peers[0]->leave(epoch);
    job.peers[2]->leave(epoch);
    co_await job.stage.pass(10ms);
    job.join(static_cast<std::size_t>(epoch) + 3);
    co_await job.stage.pass(10ms);
  }
  co_await job.stage.end();
  const elastic::run_result result = job.stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.replacements.by_rank == std::map<int, int>{{1, 3}});
  CHECK_THAT(closing_words("train.py", result),
             contains_text("Replacements on this node: rank 1 was replaced 3 times\n"));
}

TIME_TEST("agent replacement: it waits as long as a restart, and the survivors wait with it",
          "[agent]") {
  play job(time);
  job.stage.workers.restart.delay = 2s;
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at);
  co_await job.stage.pass(10ms);
  job.stage.worker(1).exit(4);
  co_await job.stage.pass(10ms);
  for (const std::size_t at : {0, 2}) job.peers[at]->leave(0);
  co_await job.stage.pass(1900ms);
  CHECK(job.stage.launcher->started.size() == 3);
  CHECK_FALSE(job.peers[0]->hears("\"rejoin\""));
  co_await job.stage.pass(200ms);
  CHECK(job.stage.launcher->started.size() == 4);
  CHECK(job.peers[0]->hears("\"rejoin\""));
  for (const std::size_t process : {0, 2, 3}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent replacement: on SIGTERM survivors save a checkpoint and end, as all workers do",
          "[agent]") {
  play job(time);
  job.stage.workers.preempt_grace = 30s;
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at, at == 0);
  co_await job.stage.pass(10ms);
  elastic::stop_request request;
  request.signal = SIGTERM;
  job.stage.agent().stop(request);
  co_await job.stage.pass(20s);
  CHECK_FALSE(job.peers[1]->hears("\"change\""));
  CHECK(job.stage.worker(1).signals.empty());
  job.peers[0]->say(R"({"kind":"saved","id":1})");
  co_await job.stage.quiet();
  CHECK(job.stage.ended());
  CHECK(job.stage.result().state == worker_state::stopped);
  CHECK(job.stage.result().replacements.empty());
  CHECK(job.stage.is_clean());
}

TIME_TEST("agent replacement: if a node that is drained lets all ranks save, all restart",
          "[agent]") {
  play job(time);
  job.stage.start();
  co_await job.stage.quiet();
  for (std::size_t at = 0; at < 3; ++at) job.join(at, true);
  co_await job.stage.pass(10ms);
  job.stage.rendezvous->pause("node b_1_0 is drained", true);
  co_await job.stage.pass(10ms);
  for (const auto& peer : job.peers) {
    CHECK(peer->hears("\"checkpoint\""));
    CHECK_FALSE(peer->hears("\"change\""));
    peer->say(R"({"kind":"saved","id":1})");
  }
  CHECK(job.stage.worker(0).signals.empty());
  co_await job.stage.pass(10ms);
  CHECK(job.stage.worker(0).signals == std::vector<int>{SIGTERM});
  job.stage.rendezvous->resume();
  co_await job.stage.pass(10ms);
  REQUIRE(job.stage.launcher->started.size() == 6);
  CHECK(job.told(job_event::type::ranks_replaced).empty());
  for (const std::size_t process : {3, 4, 5}) job.stage.worker(process).exit(0);
  co_await job.stage.end();
  CHECK(job.stage.result().state == worker_state::succeeded);
}

// ---- words --------------------------------------------------------------------------------------

elastic::worker_group::worker failed_worker(int rank, exit_status status, std::string hung = {}) {
  elastic::worker_group::worker failed;
  failed.identity.rank = rank;
  failed.identity.local_rank = rank % 4;
  failed.pid = 100 + rank;
  failed.end = elastic::process_set::process_end{0, failed.pid, status, {}, {}};
  failed.hung = std::move(hung);
  return failed;
}

TEST_CASE("replacement line: how a worker ended", "[agent]") {
  CHECK(end_clause(exit_status::exited(3)) == "ended with exit code 3");
  CHECK(end_clause(exit_status::signalled(SIGKILL)) == "ended by signal 9 (SIGKILL)");
  CHECK(end_clause(exit_status::signalled(SIGSEGV, true)) ==
        "ended by signal 11 (SIGSEGV), core dumped");
  CHECK(end_clause(exit_status::signalled(63)) == "ended by signal 63");
}

TEST_CASE("replacement line: one, several, many and none of this node", "[agent]") {
  const auto killed = failed_worker(3, exit_status::signalled(SIGKILL));
  const auto hung = failed_worker(5, exit_status::signalled(SIGKILL), "no heartbeat for 10 s");
  CHECK(replacement_line({&killed}, "", "restart 1 of 3") ==
        "rank 3 (local rank 3, pid 103) ended by signal 9 (SIGKILL); replacing it, the others keep "
        "their processes: restart 1 of 3");
  CHECK(replacement_line({&hung, &killed}, "", "restart 2 of 3") ==
        "rank 5 (local rank 1, pid 105) was hung: no heartbeat for 10 s, rank 3 (local rank 3, pid "
        "103) ended by signal 9 (SIGKILL); replacing them, the others keep their processes: "
        "restart 2 of 3");
  const std::vector<const elastic::worker_group::worker*> many(11, &killed);
  CHECK_THAT(replacement_line(many, "", "restart 1 of 3"),
             contains_text("(SIGKILL) and 3 more; replacing them, "));
  CHECK(replacement_line({}, "rank 9 ended: SIGKILL", "restart 1 of 3") ==
        "rank 9 ended: SIGKILL; the workers of this node keep their processes: restart 1 of 3");
}

TEST_CASE("rank replacements: as text", "[agent]") {
  run_result::rank_replacements replacements;
  CHECK(replacements.text().empty());
  for (const int rank : {3, 5, 3}) replacements.add(rank);
  CHECK(replacements.text() == "rank 3 was replaced 2 times, rank 5 once");
  for (int rank = 100; rank < 120; ++rank) replacements.add(rank);
  CHECK_THAT(replacements.text(), contains_text(", rank 113 once and 6 other ranks"));
}

}  // namespace agent_replacement_tests

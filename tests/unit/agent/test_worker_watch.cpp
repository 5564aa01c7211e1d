// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/workers/worker_watch.hpp>

#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace worker_watch_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::job_event;
using elastic::journal_record;
using elastic::log_level;
using elastic::task;
using elastic::time_point;
using elastic::to_string;
using elastic::worker_state;
using elastic::detail::suspicion_change;
using elastic::detail::worker_sample;
using elastic::detail::worker_watch;
using elastic::test::agent_stage;
using elastic::test::channel_peer;

/// Workers that are looked at each 5 s, and what the watch said of them: "25 2 idle".
class crowd {
 public:
  explicit crowd(std::size_t size) : sights(size) {
    for (std::optional<worker_sample>& sight : sights) {
      sight.emplace();
      sight->processor_time = 0s;
      sight->processes = 1;
    }
    look();
  }

  /// For so long each uses this part of a processor, beside whatever `act` does before each look.
  crowd& pass(
      duration span, std::vector<double> shares,
      const std::function<void(crowd&)>& act = [](crowd&) {}) {
    for (duration elapsed{}; elapsed < span; elapsed += 5s) {
      now += 5s;
      for (std::size_t index = 0; index < sights.size(); ++index) {
        const auto busy_time = std::chrono::duration<double>(5 * shares.at(index));
        if (!sights[index] || !sights[index]->processor_time) continue;
        *sights[index]->processor_time += std::chrono::duration_cast<duration>(busy_time);
      }
      act(*this);
      look();
    }
    return *this;
  }

  /// A step that took so long ends now.
  void step(std::size_t local_rank, duration step_time) {
    worker_sample& sight = *sights[local_rank];
    sight.step_at = sight.step < 0 ? now : sight.step_at + step_time;
    ++sight.step;
  }

  std::vector<std::optional<worker_sample>> sights;
  std::vector<std::string> reports;
  std::string last_reason;

 private:
  void look() {
    for (const suspicion_change& change : watch_.look(sights, now)) {
      reports.push_back(fmt::format(
          "{} {} {}", std::chrono::duration_cast<std::chrono::seconds>(now - begin_).count(),
          change.local_rank, to_string(change.suspicion)));
      last_reason = change.reason;
    }
  }

  const time_point begin_ = time_point(1h);
  time_point now = begin_;
  worker_watch watch_;
};

using lines = std::vector<std::string>;

TEST_CASE("worker watch: one that does nothing while others work is idle", "[agent]") {
  crowd workers(4);
  workers.pass(25s, {1, 1, 0, 1});
  CHECK(workers.reports.empty());
  workers.pass(5s, {1, 0.9, 0.01, 0});
  CHECK(workers.reports == lines{"30 2 idle"});
  CHECK(workers.last_reason == "it has done nothing for 30 s, while 2 of 3 others worked");
  // That the others then wait for it makes it no better; that it works does.
  workers.pass(60s, {0, 0, 0, 0}).pass(5s, {0, 0, 0.1, 0});
  CHECK(workers.reports == lines{"30 2 idle", "95 2 none"});
  CHECK(workers.last_reason == "it works again");
}

TEST_CASE("worker watch: who is idle together with most others is not named", "[agent]") {
  crowd workers(4);
  workers.pass(10min, {0, 0, 0, 1}).pass(10min, {0, 0, 0, 0});
  CHECK(workers.reports.empty());
  crowd lone_crowd(1);
  lone_crowd.pass(10min, {0});
  CHECK(lone_crowd.reports.empty());
}

TEST_CASE("worker watch: steps, output and processes that come and go are work", "[agent]") {
  using act = std::function<void(crowd&)>;
  for (const act& work : {act([](crowd& group) { group.step(0, 5s); }),
                          act([](crowd& group) { ++group.sights[0]->written; }),
                          act([](crowd& group) { group.sights[0]->processes ^= 3; })}) {
    crowd workers(2);
    workers.pass(10min, {0, 1}, work);
    CHECK(workers.reports.empty());
  }
}

TEST_CASE("worker watch: nothing is said of whom /proc does not show", "[agent]") {
  crowd workers(3);
  workers.sights[0]->processor_time.reset();
  workers.pass(10min, {0, 1, 1});
  CHECK(workers.reports.empty());
}

TEST_CASE("worker watch: a process that ends may take its time with it", "[agent]") {
  crowd workers(3);
  workers.pass(10s, {1, 1, 1});
  workers.sights[0]->processor_time = 1s;
  workers.pass(10min, {1, 1, 1});
  CHECK(workers.reports.empty());
}

TEST_CASE("worker watch: one that was stopped is named at the second look", "[agent]") {
  crowd workers(2);
  workers.pass(5s, {1, 1});
  workers.sights[1]->stopped = 4711;
  workers.pass(5s, {1, 0});
  CHECK(workers.reports.empty());
  workers.pass(60s, {1, 0});
  CHECK(workers.reports == lines{"15 1 stopped"});
  CHECK(workers.last_reason == "process 4711 was stopped, by a signal or a debugger");
  workers.sights[1]->stopped = 0;
  workers.pass(5s, {1, 1});
  CHECK(workers.reports.back() == "75 1 none");
}

TEST_CASE("worker watch: one in uninterruptible sleep that uses nothing is blocked", "[agent]") {
  crowd workers(2);
  for (auto& sight : workers.sights) sight->blocked = 17;
  // The other one reads a file, and sleeps so now and then.
  workers.pass(40s, {0, 0.1});
  CHECK(workers.reports == lines{"35 0 blocked"});
  CHECK(workers.last_reason == "process 17 has been in uninterruptible sleep for 30 s");
}

TEST_CASE("worker watch: by their steps one is slow against the median", "[agent]") {
  crowd workers(4);
  const auto step_all = [](crowd& group) {
    for (const std::size_t local_rank : {0, 1, 2}) group.step(local_rank, 4s);
    group.step(3, 6s);
  };
  workers.pass(60s, {1, 1, 1, 1}, step_all);
  CHECK(workers.reports == lines{"20 3 slow"});
  CHECK(workers.last_reason == "a step takes it 6 s, 1.50 times the median");
  workers.pass(60s, {1, 1, 1, 1}, [](crowd& group) {
    for (const std::size_t local_rank : {0, 1, 2, 3}) group.step(local_rank, 4s);
  });
  CHECK(workers.reports.size() == 2);
  CHECK(workers.reports.back().ends_with(" 3 none"));
  CHECK(workers.last_reason == "it keeps up with the others");
}

TEST_CASE("worker watch: a worker that was slow when the others ended has nothing to compare with",
          "[agent]") {
  crowd workers(4);
  workers.pass(60s, {1, 1, 1, 1}, [](crowd& group) {
    for (const std::size_t local_rank : {0, 1, 2}) group.step(local_rank, 4s);
    group.step(3, 6s);
  });
  CHECK(workers.reports == lines{"20 3 slow"});
  for (const std::size_t local_rank : {0, 1, 2}) workers.sights[local_rank].reset();
  workers.pass(60s, {0, 0, 0, 1}, [](crowd& group) { group.step(3, 6s); });
  CHECK(workers.reports.back().ends_with(" 3 none"));
  CHECK(workers.last_reason == "too few others work that it could be compared with");
}

TEST_CASE("worker watch: two workers have no median", "[agent]") {
  crowd workers(2);
  workers.pass(10min, {1, 0.3}, [](crowd& group) {
    group.step(0, 1s);
    group.step(1, 9s);
  });
  CHECK(workers.reports.empty());
}

TEST_CASE("worker watch: without steps one is slow that gets less than half of a processor",
          "[agent]") {
  crowd workers(3);
  workers.pass(55s, {1, 1, 0.3});
  CHECK(workers.reports.empty());
  workers.pass(30s, {1, 1, 0.3});
  CHECK(workers.reports == lines{"60 2 slow"});
  CHECK(workers.last_reason == "it got 30 % of a processor, and the median worker 100 %");
  workers.pass(20s, {1, 1, 0.6});
  CHECK(workers.reports == lines{"60 2 slow", "100 2 none"});
  // If little is computed, or steps are reported, that means nothing.
  crowd lazy_crowd(3);
  lazy_crowd.pass(10min, {0.4, 0.4, 0.1});
  CHECK(lazy_crowd.reports.empty());
  crowd stepping_crowd(3);
  stepping_crowd.pass(10min, {1, 1, 0.3}, [](crowd& group) {
    for (const std::size_t local_rank : {0, 1, 2}) group.step(local_rank, 5s);
  });
  CHECK(stepping_crowd.reports.empty());
}

TEST_CASE("worker watch: of one that ended nothing more is said", "[agent]") {
  crowd workers(3);
  workers.pass(30s, {0, 1, 1});
  CHECK(workers.reports == lines{"30 0 idle"});
  workers.sights[0].reset();
  workers.pass(60s, {0, 1, 1});
  CHECK(workers.reports.size() == 1);
}

// ---- in an agent -------------------------------------------------------------------------------

/// Those that were suspected, "rank state" each.
lines suspicions_of(const agent_stage& stage) {
  lines suspicions;
  for (const journal_record& record : stage.journal->after(0)) {
    const job_event& event = record.event;
    if (event.kind != job_event::type::worker_suspected) continue;
    suspicions.push_back(fmt::format("{} {}", event.rank.value_or(-1), event.state));
  }
  return suspicions;
}

/// A minute of steps, which take the last of the workers three times as long.
task<void> train(agent_stage& stage, const std::vector<std::unique_ptr<channel_peer>>& peers) {
  for (int round = 1; round <= 10; ++round) {
    for (std::size_t index = 0; index < peers.size(); ++index) {
      const int step = index + 1 < peers.size() ? 3 * round : round;
      peers[index]->say(fmt::format(R"({{"kind":"progress","step":{}}})", step));
    }
    co_await stage.pass(6s);
  }
}

TIME_TEST("worker watch: the agent tells who is slow, and does nothing about it", "[agent]") {
  agent_stage stage(time);
  stage.workers.nproc_per_node = 3;
  stage.workers.watch_interval = 5s;
  stage.start();
  co_await stage.quiet();
  std::vector<std::unique_ptr<channel_peer>> peers;
  for (std::size_t index = 0; index < 3; ++index) {
    const auto& worker = stage.worker(index);
    peers.push_back(
        std::make_unique<channel_peer>(worker.variable("ELASTIC_CONTROL"), worker.local_rank()));
  }
  co_await train(stage, peers);
  CHECK(suspicions_of(stage) == lines{"2 slow"});
  CHECK(stage.log->count("seems slow", log_level::warning) == 1);
  for (std::size_t index = 0; index < 3; ++index) stage.worker(index).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

}  // namespace worker_watch_tests

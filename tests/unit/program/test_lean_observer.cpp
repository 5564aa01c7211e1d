// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/lean_observer.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <program/code_pages.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>

namespace lean_observer_tests {

using elastic::duration;
using elastic::race;
using elastic::task;
using elastic::time_point;
using elastic::time_source;
using elastic::worker_observer;
using elasticrun::lean_observer;
using namespace std::chrono_literals;

// Resident memory of files, in kB: mostly code and constants.
long resident_file_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long size = 0;
    if (word == "RssFile:" && status >> size) return size;
  }
  return -1;
}

struct listener : elastic::worker_observer {
  void started(const worker_observer::started_workers& job) override { round = job.round; }
  void progress(const worker_observer::worker_progress& report) override { step = report.step; }
  void hung(const worker_observer::hung_worker& worker) override { rank = worker.rank; }

  long round = -1;
  long step = -1;
  int rank = -1;
};

TEST_CASE("lean observer: gives back code that is in memory", "[program]") {
  const long memory_before = resident_file_memory();
  elasticrun::release_code_pages();
  const long memory_after = resident_file_memory();
  INFO(memory_before << " kB before, " << memory_after << " kB after");
  CHECK(memory_after < memory_before / 2);
}

// How often code was given back.
int releases = 0;
void count_release() { ++releases; }

/// Tells of workers that start, and start again later.
task<void> start_twice(lean_observer& observer, time_source& time, duration restart, duration end) {
  const time_point begin = time.now();
  observer.started({});
  co_await time.sleep_until(begin + restart);
  observer.started({});
  co_await time.sleep_until(begin + end);
}

/// What lives as long as a job that restarts after `restart` and ends after `end`.
task<void> run_job(time_source& time, duration restart, duration end) {
  releases = 0;
  const auto shared = std::shared_ptr<time_source>(&time, [](auto*) {});
  lean_observer observer(co_await asio::this_coro::executor, shared, {}, count_release);
  co_await race(start_twice(observer, time, restart, end), observer.run());
}

TIME_TEST("lean observer: code is given back once, when workers have run for a second",
          "[program]") {
  co_await run_job(time, 100ms, 999ms);
  CHECK(releases == 0);
  co_await run_job(time, 100ms, 1001ms);
  CHECK(releases == 1);
  co_await run_job(time, 1500ms, 60s);
  CHECK(releases == 1);
}

TIME_TEST("lean observer: nothing is given back before workers start", "[program]") {
  releases = 0;
  const auto shared = std::shared_ptr<time_source>(&time, [](auto*) {});
  lean_observer observer(co_await asio::this_coro::executor, shared, {}, count_release);
  co_await race(time.sleep_until(time.now() + 1h), observer.run());
  CHECK(releases == 0);
}

TEST_CASE("lean observer: tells the next one all that it is told", "[program]") {
  const auto next_observer = std::make_shared<listener>();
  asio::io_context context;
  lean_observer observer(context.get_executor(), std::make_shared<elastic::system_time>(),
                         next_observer);
  worker_observer::started_workers job;
  job.round = 3;
  observer.started(job);
  CHECK(next_observer->round == 3);
  // The second attempt is not a start of the program.
  job.round = 4;
  observer.started(job);
  CHECK(next_observer->round == 4);
  worker_observer::worker_progress report;
  report.step = 7;
  observer.progress(report);
  CHECK(next_observer->step == 7);
  worker_observer::hung_worker worker;
  worker.rank = 5;
  observer.hung(worker);
  CHECK(next_observer->rank == 5);
}

}  // namespace lean_observer_tests

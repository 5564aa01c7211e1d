// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/detail/lean_observer.hpp>

#include <elastic/launch/detail/code_pages.hpp>

#include <support/catch.hpp>

#include <fstream>
#include <memory>
#include <string>

namespace lean_observer_tests {

using elastic::hung_worker;
using elastic::started_workers;
using elastic::worker_progress;
using elastic::detail::lean_observer;

// Of files, in kB: code and constants mostly.
long resident_file_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long size = 0;
    if (word == "RssFile:" && status >> size) return size;
  }
  return -1;
}

struct listener : elastic::worker_observer {
  void started(const started_workers& job) override { round = job.round; }
  void progress(const worker_progress& report) override { step = report.step; }
  void hung(const hung_worker& worker) override { rank = worker.rank; }

  long round = -1;
  long step = -1;
  int rank = -1;
};

TEST_CASE("lean observer: gives back code that is in memory when workers start", "[launch]") {
  lean_observer observer;
  const long memory_before = resident_file_memory();
  observer.started({});
  const long memory_after = resident_file_memory();
  INFO(memory_before << " kB before, " << memory_after << " kB after");
  CHECK(memory_after < memory_before / 2);
}

TEST_CASE("lean observer: tells the next one all that it is told", "[launch]") {
  const auto next_observer = std::make_shared<listener>();
  lean_observer observer(next_observer);
  started_workers job;
  job.round = 3;
  observer.started(job);
  CHECK(next_observer->round == 3);
  // The second attempt is no start of the program.
  job.round = 4;
  observer.started(job);
  CHECK(next_observer->round == 4);
  worker_progress report;
  report.step = 7;
  observer.progress(report);
  CHECK(next_observer->step == 7);
  hung_worker worker;
  worker.rank = 5;
  observer.hung(worker);
  CHECK(next_observer->rank == 5);
}

}  // namespace lean_observer_tests

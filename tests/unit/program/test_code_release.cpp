// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When elasticrun returns the memory of the code that it has run.

#include <elastic/base/when_all.hpp>
#include <program/code_release.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace code_release_tests {

using elastic::test::agent_stage;
using elasticrun::code_release;
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

TEST_CASE("code release: gives back code that is in memory", "[program]") {
  const long memory_before = resident_file_memory();
  elasticrun::release_code_pages();
  const long memory_after = resident_file_memory();
  INFO(memory_before << " kB before, " << memory_after << " kB after");
  CHECK(memory_after < memory_before / 2);
}

// How often code was given back.
int releases = 0;
void count_release() { ++releases; }

/// An agent whose code is given back.
struct lean_stage : agent_stage {
  explicit lean_stage(elastic::test::manual_time& clock) : agent_stage(clock) {
    releases = 0;
    workers.nproc_per_node = 1;
    workers.max_restarts = 2;
    attach(std::make_shared<code_release>(clock.share(), count_release));
  }
};

TIME_TEST("code release: once, when the workers of an attempt have run for a second",
          "[program]") {
  lean_stage stage(time);
  stage.start();
  co_await stage.pass(900ms);
  stage.worker(0).exit(1);
  co_await stage.pass(900ms);
  CHECK(releases == 0);
  co_await stage.pass(200ms);
  CHECK(releases == 1);
  stage.worker(1).exit(1);
  co_await stage.pass(1min);
  CHECK(releases == 1);
  stage.worker(2).exit(0);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TIME_TEST("code release: not before workers start", "[program]") {
  lean_stage stage(time);
  stage.rendezvous->hold_at = 0;
  stage.start();
  co_await stage.pass(1h);
  CHECK(releases == 0);
  stage.agent().stop({});
  co_await stage.end();
}

TIME_TEST("code release: once for two agents that run at the same time", "[program]") {
  releases = 0;
  code_release release(time.share(), count_release);
  std::vector<elastic::task<void>> both;
  both.push_back(release.beside_workers(false));
  both.push_back(release.beside_workers(false));
  co_await elastic::when_all(std::move(both));
  CHECK(releases == 1);
  CHECK(time.elapsed() == 1s);
}

}  // namespace code_release_tests

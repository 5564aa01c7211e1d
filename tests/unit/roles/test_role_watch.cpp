// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When the workers of a role are ready, as far as their agent knows.

#include <elastic/roles/detail/role_log.hpp>
#include <elastic/roles/detail/role_watch.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <memory>
#include <string>
#include <vector>

namespace role_watch_tests {

using role_readiness = elastic::role::readiness;
using started_workers = elastic::worker_observer::started_workers;
using worker_progress = elastic::worker_observer::worker_progress;
using elastic::detail::role_watch;

struct listener final : elastic::worker_observer {
  std::vector<std::string> heard;
  void started(const started_workers&) override { heard.push_back("started"); }
  void progress(const worker_progress&) override { heard.push_back("progress"); }
  void hung(const elastic::worker_observer::hung_worker&) override { heard.push_back("hung"); }
};

worker_progress progress_of(int local_rank) {
  worker_progress progress;
  progress.local_rank = local_rank;
  return progress;
}

TEST_CASE("role watch: a role is ready when each worker of the node has reported", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::progress, 2, nullptr, [&] { ++times; });
  watch.started({});
  watch.progress(progress_of(1));
  watch.progress(progress_of(1));
  CHECK(times == 0);
  watch.progress(progress_of(0));
  CHECK(times == 1);
  watch.progress(progress_of(0));
  CHECK(times == 1);
}

TEST_CASE("role watch: workers that start again report again, those that stay do not", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::progress, 2, nullptr, [&] { ++times; });
  watch.started({});
  watch.progress(progress_of(0));
  started_workers again;
  SECTION("all start again") {
    watch.started(again);
    watch.progress(progress_of(1));
    CHECK(times == 0);
    watch.progress(progress_of(0));
    CHECK(times == 1);
  }
  SECTION("one has stayed") {
    again.stayed = 1;
    watch.started(again);
    watch.progress(progress_of(1));
    CHECK(times == 1);
  }
}

TEST_CASE("role watch: a role can be ready as soon as its workers run", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::start, 2, nullptr, [&] { ++times; });
  CHECK(times == 0);
  watch.started({});
  CHECK(times == 1);
  watch.progress(progress_of(0));
  watch.progress(progress_of(1));
  CHECK(times == 1);
}

TEST_CASE("role watch: another observer is told everything", "[roles]") {
  const auto next = std::make_shared<listener>();
  role_watch watch(role_readiness::progress, 1, next, [] {});
  watch.started({});
  watch.progress(progress_of(0));
  watch.hung({});
  CHECK(next->heard == std::vector<std::string>{"started", "progress", "hung"});
}

}  // namespace role_watch_tests

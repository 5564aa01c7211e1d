// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When the workers of a role are ready, as far as their agent knows.

#include <elastic/roles/detail/role_log.hpp>
#include <elastic/roles/detail/role_watch.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>

namespace role_watch_tests {

using role_readiness = elastic::role::readiness;
using started_workers = elastic::agent_part::started_workers;
using worker_progress = elastic::worker_progress;
using elastic::detail::role_watch;

worker_progress progress_of(int local_rank) {
  worker_progress progress;
  progress.local_rank = local_rank;
  return progress;
}

TEST_CASE("role watch: a role is ready when each worker of the node has reported", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::progress, 2, [&] { ++times; });
  watch.started({});
  watch.progressed(progress_of(1));
  watch.progressed(progress_of(1));
  CHECK(times == 0);
  watch.progressed(progress_of(0));
  CHECK(times == 1);
  watch.progressed(progress_of(0));
  CHECK(times == 1);
}

TEST_CASE("role watch: workers that start again report again, those that stay do not", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::progress, 2, [&] { ++times; });
  watch.started({});
  watch.progressed(progress_of(0));
  started_workers again;
  SECTION("all start again") {
    watch.started(again);
    watch.progressed(progress_of(1));
    CHECK(times == 0);
    watch.progressed(progress_of(0));
    CHECK(times == 1);
  }
  SECTION("one has stayed") {
    again.stayed = 1;
    watch.started(again);
    watch.progressed(progress_of(1));
    CHECK(times == 1);
  }
}

TEST_CASE("role watch: a role can be ready as soon as its workers run", "[roles]") {
  int times = 0;
  role_watch watch(role_readiness::start, 2, [&] { ++times; });
  CHECK(times == 0);
  watch.started({});
  CHECK(times == 1);
  watch.progressed(progress_of(0));
  watch.progressed(progress_of(1));
  CHECK(times == 1);
}

}  // namespace role_watch_tests

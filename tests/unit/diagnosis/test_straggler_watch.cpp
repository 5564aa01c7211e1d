// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/straggler_watch.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace straggler_watch_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::straggler_change;
using elastic::detail::straggler_watch;
using elastic::test::approximately;

constexpr time_point start{1000s};

/// A job of four nodes with four ranks each, whose steps take about a second.
class job {
 public:
  explicit job(unsigned seed = 3) : random_(seed) {}

  /// Passes the time; `factor` says how many times slower a rank is. Judged each five seconds.
  void pass(duration span, const std::function<double(int)>& factor) {
    for (const time_point end = now + span; now < end; now += 1s) {
      for (int rank = 0; rank < 16; ++rank) {
        const double seconds = factor(rank) * noise_(random_);
        watch.add(rank, rank / 4,
                  std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds)));
      }
      if ((now - start) % 5s != 0s) continue;
      for (const straggler_change& change : watch.judge(now)) changes.push_back(change);
    }
  }

  straggler_watch watch;
  time_point now = start;
  std::vector<straggler_change> changes;

 private:
  std::mt19937_64 random_;
  std::lognormal_distribution<double> noise_{0.0, 0.1};
};

double even(int) { return 1; }

TEST_CASE("a rank whose steps take longer is a straggler, with its factor and time",
          "[diagnosis]") {
  job ranks;
  ranks.pass(100s, even);
  const time_point slow_from = ranks.now;
  ranks.pass(100s, [](int rank) { return rank == 5 ? 1.8 : 1; });
  REQUIRE(ranks.changes.size() == 1);
  const straggler_change slow = ranks.changes.front();
  CHECK(slow.rank == 5);
  CHECK(slow.group_rank == 1);
  CHECK(slow.is_straggler);
  CHECK_FALSE(slow.is_node);
  CHECK(slow.factor == approximately(1.8).epsilon(0.1));
  CHECK(slow.since >= slow_from);
  CHECK(slow.since <= slow_from + 20s);
  CHECK_FALSE(to_string(slow).empty());

  ranks.pass(100s, even);
  REQUIRE(ranks.changes.size() == 2);
  CHECK(ranks.changes.back().rank == 5);
  CHECK_FALSE(ranks.changes.back().is_straggler);
  CHECK(ranks.changes.back().since == slow.since);
}

TEST_CASE("a node is slow if all of its ranks are", "[diagnosis]") {
  job ranks;
  ranks.pass(100s, [](int rank) { return rank / 4 == 2 ? 2 : 1; });
  REQUIRE(ranks.changes.size() == 4);
  for (const straggler_change& change : ranks.changes) {
    CHECK(change.group_rank == 2);
    CHECK(change.is_node);
  }
}

TEST_CASE("who is not a straggler", "[diagnosis]") {
  job ranks;
  SECTION("in a job that is slow as a whole") {
    ranks.pass(100s, even);
    ranks.pass(300s, [](int) { return 3; });
  }
  SECTION("a rank that is a little slower") {
    ranks.pass(300s, [](int rank) { return rank == 5 ? 1.15 : 1; });
  }
  SECTION("a rank with single long steps") {
    int step = 0;
    ranks.pass(300s, [&](int rank) { return rank == 5 && ++step % 10 == 0 ? 30 : 1; });
  }
  SECTION("a rank that was slow for a moment") {
    ranks.pass(100s, even);
    ranks.pass(15s, [](int rank) { return rank == 5 ? 2 : 1; });
    ranks.pass(100s, even);
  }
  SECTION("half of the ranks: nobody can say which half is slow") {
    ranks.pass(300s, [](int rank) { return rank % 2 == 0 ? 2 : 1; });
  }
  SECTION("a rank in a job too small to compare") {
    straggler_watch few;
    for (int second = 0; second < 100; ++second) {
      for (int rank = 0; rank < 3; ++rank) few.add(rank, 0, rank == 1 ? 5s : 1s);
      CHECK(few.judge(start + std::chrono::seconds(second)).empty());
    }
  }
  SECTION("a rank whose clock went back") {
    ranks.pass(100s, even);
    for (int step = 0; step < 100; ++step) ranks.watch.add(5, 1, -1s);
    ranks.pass(100s, even);
  }
  CHECK(ranks.changes.empty());
}

TEST_CASE("a rank that reports no step any more stays what it was", "[diagnosis]") {
  job ranks;
  ranks.pass(100s, [](int rank) { return rank == 5 ? 2 : 1; });
  REQUIRE(ranks.changes.size() == 1);
  for (int second = 0; second < 1000; ++second) {
    CHECK(ranks.watch.judge(ranks.now += 1s).empty());
  }
}

TEST_CASE("a day of undisturbed or unevenly loaded training has no straggler",
          "[diagnosis]") {
  job ranks(17);
  SECTION("undisturbed") { ranks.pass(24h, even); }
  SECTION("ranks differ by some percent, and the job becomes slower") {
    ranks.pass(24h, [&](int rank) {
      return (1 + 0.02 * (rank % 4)) * (1 + (ranks.now - start) / 1h * 0.2);
    });
  }
  CHECK(ranks.changes.empty());
}

}  // namespace straggler_watch_tests

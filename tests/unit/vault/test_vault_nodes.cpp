// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The vaults of several nodes, with this process as the worker of each.

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/vault/detail/vault_report.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/simulation_seeds.hpp>
#include <support/text.hpp>
#include <support/vault_stage.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace vault_nodes_test {

using namespace std::chrono_literals;
using nlohmann::json;
using test::has_text;
using test::vault_peer;
using test::vault_stage;

constexpr std::uint64_t mebibyte = 1 << 20;

/// Nodes of one worker each, which share a store.
class vault_job {
 public:
  vault_job(test::manual_time& clock, std::size_t count) : time(clock) {
    for (std::size_t index = 0; index < count; ++index) add();
  }

  /// A node that nobody has seen before.
  void add() { nodes.push_back(make()); }
  void replace(std::size_t index) { nodes[index] = make(); }

  /// Starts the workers of all nodes in a new round, lets each work, and ends them.
  template <class Work>
  task<void> attempt(Work work) {
    auto agents = std::make_shared<memory_store>();
    ++round_;
    task_group running(time.context().get_executor());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      vault_stage& node = *nodes[index];
      node.round.round = round_;
      node.round.agents = agents;
      node.round.group_rank = node.ranks.base_rank = static_cast<int>(index);
      node.round.group_world_size = node.ranks.world_size = static_cast<int>(nodes.size());
      task<void> working = work(node, index);
      running.spawn(node.attempt(std::move(working)));
    }
    co_await running.wait();
  }

  test::manual_time& time;
  std::vector<std::unique_ptr<vault_stage>> nodes;

 private:
  std::unique_ptr<vault_stage> make() {
    const std::string name(1, static_cast<char>('a' + made_++ % 26));
    return std::make_unique<vault_stage>(time, 1, mebibyte, name);
  }

  std::int64_t round_ = 0;
  std::size_t made_ = 0;
};

/// The step that a worker restores; -1: none.
task<std::int64_t> restored_step(vault_stage& node) {
  vault_peer peer(node.address);
  const json found = co_await node.ask(peer, R"({"kind": "find"})");
  co_return found["kind"] == "found" ? found["step"].get<std::int64_t>() : -1;
}

TIME_TEST("vault nodes: all restore what all have committed", "[vault]") {
  vault_job job(time, 2);
  const auto first = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    const std::int64_t last = index == 0 ? 30 : 20;
    for (std::int64_t step = 10; step <= last; step += 10) co_await node.commit(peer, 0, step);
    // The other node's commits come meanwhile.
    co_await time.sleep_until(time.now() + 1s);
  };
  co_await job.attempt(first);
  const auto second = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == 20);
  };
  co_await job.attempt(second);
  for (const auto& node : job.nodes) {
    CHECK(node->events() == std::vector<std::string>{"vault_committed 1 of step 10"});
    CHECK(node->log->text().empty());
  }
}

TIME_TEST("vault nodes: what was on a lost node is given up, and told", "[vault]") {
  vault_job job(time, 2);
  const auto first = [&](vault_stage& node, std::size_t) -> task<void> {
    vault_peer peer(node.address);
    co_await node.commit(peer, 0, 10);
    co_await time.sleep_until(time.now() + 1s);
  };
  co_await job.attempt(first);
  job.replace(1);
  const auto second = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == -1);
    vault_peer peer(node.address);
    co_await node.commit(peer, 0, 40);
  };
  co_await job.attempt(second);
  CHECK(has_text(job.nodes[0]->log->text(),
                 "generation 1 in memory is given up: the part of rank 1 was lost with node b: use "
                 "the checkpoint"));
  CHECK(has_text(job.nodes[1]->log->text(), "the part of rank 1 was lost with its node"));
  const auto third = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == 40);
  };
  co_await job.attempt(third);
}

TIME_TEST("vault nodes: a node ahead of the others waits a little, and once", "[vault]") {
  vault_job job(time, 2);
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    if (index == 1) {
      co_await time.sleep_until(time.now() + 20s);
      co_return;
    }
    const time_point begun = time.now();
    for (std::int64_t step = 10; step <= 60; step += 10) {
      const json place = co_await node.commit(peer, 0, step);
      CHECK(place["kind"] == (step <= 20 ? "write" : "skipped"));
    }
    CHECK(time.now() - begun >= 2s);
    CHECK(time.now() - begun < 3s);
  };
  co_await job.attempt(work);
  CHECK(has_text(job.nodes[0]->log->text(), "generation 1 is not complete yet"));
}

TIME_TEST("vault nodes: a node that is slower by a moment is waited for", "[vault]") {
  vault_job job(time, 2);
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    for (std::int64_t step = 10; step <= 60; step += 10) {
      if (index == 1) co_await time.sleep_until(time.now() + 500ms);
      const json place = co_await node.commit(peer, 0, step);
      CHECK(place["kind"] == "write");
    }
    co_await time.sleep_until(time.now() + 4s);
  };
  co_await job.attempt(work);
}

TIME_TEST("vault nodes: after one has skipped a commit, all go on", "[vault]") {
  vault_job job(time, 2);
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    for (std::int64_t step = 10; step <= 60; step += 10) {
      if (index == 1 && step == 20) {
        peer.say(R"({"kind": "skip", "reason": "no plain tensor"})");
        continue;
      }
      const json place = co_await node.commit(peer, 0, step);
      CHECK(place["kind"] == "write");
    }
    co_await time.sleep_until(time.now() + 1s);
  };
  co_await job.attempt(work);
  const auto restart = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == 60);
  };
  co_await job.attempt(restart);
}

TIME_TEST("vault nodes: a node that was slow for long catches up, and all go on", "[vault]") {
  constexpr std::int64_t ahead = 100;
  constexpr std::int64_t last = ahead + 5;
  vault_job job(time, 2);
  const time_point meeting = time.now() + 30s;
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    if (index == 1) co_await time.sleep_until(time.now() + 10s);
    for (std::int64_t step = 1; step <= ahead; ++step) co_await node.commit(peer, 0, step);
    co_await time.sleep_until(meeting);
    for (std::int64_t step = ahead + 1; step <= last; ++step) {
      co_await node.commit(peer, 0, step);
      co_await time.sleep_until(time.now() + 1s);
    }
  };
  co_await job.attempt(work);
  const auto restart = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == last);
  };
  co_await job.attempt(restart);
}

TIME_TEST("vault nodes: a generation that others do not reach for a minute is given up",
          "[vault]") {
  vault_job job(time, 2);
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    if (index == 1) co_await time.sleep_until(time.now() + 100s);
    std::vector<std::string> places;
    for (std::int64_t step = 1; step <= 3; ++step) {
      const json place = co_await node.commit(peer, 0, step);
      places.push_back(place["kind"]);
    }
    if (index == 0) {
      CHECK(places == std::vector<std::string>{"write", "write", "skipped"});
      co_await time.sleep_until(time.now() + 61s);
      const json place = co_await node.commit(peer, 0, 4);
      CHECK(place["kind"] == "write");
      co_await time.sleep_until(time.now() + 100s);
    } else {
      co_await node.commit(peer, 0, 4);
      co_await time.sleep_until(time.now() + 1s);
    }
  };
  co_await job.attempt(work);
  const auto restart = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == 4);
  };
  co_await job.attempt(restart);
}

TIME_TEST("vault nodes: a node goes on after a minute in which it skipped many commits",
          "[vault]") {
  constexpr std::int64_t ahead = 80;
  constexpr std::int64_t last = ahead + 5;
  vault_job job(time, 2);
  const time_point meeting = time.now() + 100s;
  const auto work = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    co_await node.commit(peer, 0, 1);
    if (index == 1) co_await time.sleep_until(meeting);
    for (std::int64_t step = 2; step < ahead; ++step) co_await node.commit(peer, 0, step);
    if (index == 0) co_await time.sleep_until(time.now() + 61s);
    const json place = co_await node.commit(peer, 0, ahead);
    CHECK(place["kind"] == "write");
    co_await time.sleep_until(meeting + 10s);
    for (std::int64_t step = ahead + 1; step <= last; ++step) {
      co_await node.commit(peer, 0, step);
      co_await time.sleep_until(time.now() + 1s);
    }
  };
  co_await job.attempt(work);
  const auto restart = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == last);
  };
  co_await job.attempt(restart);
}

TIME_TEST("vault nodes: what one node finds damaged, none restores", "[vault]") {
  vault_job job(time, 2);
  const auto work = [&](vault_stage& node, std::size_t) -> task<void> {
    vault_peer peer(node.address);
    for (const std::int64_t step : {10, 20}) co_await node.commit(peer, 0, step);
    co_await time.sleep_until(time.now() + 1s);
  };
  co_await job.attempt(work);
  const auto damage = [&](vault_stage& node, std::size_t index) -> task<void> {
    vault_peer peer(node.address);
    co_await node.ask(peer, R"({"kind": "find"})");
    if (index == 1) co_await node.ask(peer, R"({"kind": "damaged", "reason": "bad"})");
  };
  co_await job.attempt(damage);
  const auto restart = [&](vault_stage& node, std::size_t) -> task<void> {
    const std::int64_t step = co_await restored_step(node);
    CHECK(step == 10);
  };
  co_await job.attempt(restart);
}

TIME_TEST("vault nodes: a node without a vault is named", "[vault]") {
  vault_stage node(time, 1, mebibyte);
  node.round.agents = std::make_shared<memory_store>();
  node.round.group_world_size = 2;
  std::string refusal;
  try {
    co_await node.part->agree(node.round, node.ranks);
  } catch (const error& failure) {
    refusal = failure.what();
  }
  CHECK(refusal ==
        "not all of the 2 nodes announced their vault (--vault-limit) within 300 s: all "
        "nodes of a job need it");
}

// ---- many random jobs ---------------------------------------------------------------------------

/// Nodes that commit, skip, lag and die at random. It promises:
///
/// - All nodes restore the same generation, or none does.
/// - All ranks have committed it, and each reads what its rank has committed.
/// - It is the newest such generation if no node was lost.
/// - A commit is answered within a few seconds.
class random_job {
 public:
  random_job(test::manual_time& time, std::uint64_t seed)
      : random_(seed), job_(time, 2 + random_.below(3)) {}

  task<void> run() {
    for (int attempts = 0; attempts < 6; ++attempts) {
      ends_at_ = job_.time.now() + std::chrono::milliseconds(200 + random_.below(8'000));
      meets_ = random_.below(2) == 0;
      answers_.clear();
      met_ = 0;
      auto work = [this](vault_stage& node, std::size_t index) { return live(node, index); };
      co_await job_.attempt(work);
      if (!answers_.empty()) check();
      disturb();
    }
  }

  int restores() const { return restores_; }

 private:
  using generation = std::pair<std::int64_t, std::int64_t>;
  struct answer {
    std::optional<generation> id;
    std::string data;
  };

  task<void> live(vault_stage& node, std::size_t rank) {
    task<void> working = work(node, rank);
    co_await with_deadline(job_.time, ends_at_, std::move(working));
  }

  task<void> work(vault_stage& node, std::size_t rank) {
    vault_peer peer(node.address);
    const json found = co_await node.ask(peer, R"({"kind": "find"})");
    answer given;
    if (found["kind"] == "found") {
      given.id = generation{found["epoch"], found["generation"]};
      given.data.resize(100);
      const auto place = static_cast<off_t>(limits::vault_header_bytes);
      const ssize_t size = ::pread(peer.file.get(), given.data.data(), given.data.size(), place);
      given.data.resize(static_cast<std::size_t>(size));
      given.data.resize(given.data.find("{}"));
    }
    answers_[rank] = given;
    for (std::int64_t step = 1;; ++step) {
      co_await job_.time.sleep_until(job_.time.now() +
                                     std::chrono::milliseconds(random_.below(400)));
      if (meets_) co_await meet(step);
      if (random_.below(12) == 0) {
        peer.say(R"({"kind": "skip", "reason": "at random"})");
        continue;
      }
      const time_point begun = job_.time.now();
      if (random_.below(20) == 0) {
        // It dies while it writes.
        co_await node.ask(peer, R"({"kind": "begin", "bytes": 5000})");
        co_return co_await job_.time.sleep_until(ends_at_);
      }
      const std::string data = fmt::format("{} of {}.", rank, ++commits_);
      node.publishing = [this, rank, data](const json& place) {
        published_[{place["epoch"], place["generation"]}][rank] = data;
      };
      co_await node.commit(peer, 0, step, data);
      CHECK(job_.time.now() - begun < 3s);
    }
  }

  /// Waits until all ranks have come to a step, as in a collective.
  task<void> meet(std::int64_t step) {
    ++met_;
    const auto all = static_cast<std::int64_t>(job_.nodes.size()) * step;
    while (met_ < all) co_await job_.time.sleep_until(job_.time.now() + 1ms);
  }

  void check() {
    const std::optional<generation> id = answers_.begin()->second.id;
    if (id) ++times_[*id];
    if (answers_.size() < job_.nodes.size()) return;
    for (const auto& [rank, given] : answers_) {
      CHECK(given.id == id);
      if (id) CHECK(given.data == published_[*id][rank]);
    }
    if (id) ++restores_;
    if (id) CHECK(published_[*id].size() == job_.nodes.size());
    if (has_lost_) return;
    for (const auto& [other, ranks] : published_) {
      const bool is_older = id && other <= *id;
      // What came in this attempt was not there at its beginning.
      if (is_older || is_given_up(other) || seen_.count(other) == 0) continue;
      FAIL_CHECK(
          fmt::format("generation {}:{} is complete, and not restored", other.first, other.second));
    }
  }

  /// Whether a generation, or a later one, was restored too often. When the later one was complete,
  /// other commits may have overwritten this one.
  bool is_given_up(generation id) const {
    return std::any_of(times_.lower_bound(id), times_.end(),
                       [](const auto& each) { return each.second >= limits::vault_restores; });
  }

  /// What happens between two attempts.
  void disturb() {
    has_lost_ = random_.below(3) == 0;
    if (has_lost_) {
      job_.replace(random_.below(job_.nodes.size()));
      published_.clear();
    }
    seen_.clear();
    for (const auto& [id, ranks] : published_) {
      if (ranks.size() == job_.nodes.size()) seen_.insert(id);
    }
  }

  detail::random_source random_;
  vault_job job_;
  time_point ends_at_{};
  bool meets_ = false;
  bool has_lost_ = false;
  std::int64_t met_ = 0;
  std::int64_t commits_ = 0;
  int restores_ = 0;
  std::map<std::size_t, answer> answers_;
  std::map<generation, std::map<std::size_t, std::string>> published_;
  /// What all ranks had committed before this attempt.
  std::set<generation> seen_;
  /// How often each generation was restored.
  std::map<generation, int> times_;
};

TEST_CASE("vault nodes: random jobs", "[vault][simulation]") {
  const std::uint64_t first = test::number_from("ELASTIC_SIMULATION_FIRST", std::random_device()());
  const std::uint64_t seeds = test::number_from("ELASTIC_SIMULATION_SEEDS", 5);
  int restores = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    INFO("ELASTIC_SIMULATION_FIRST=" << seed);
    asio::io_context context;
    test::manual_time time(context);
    random_job job(time, seed);
    time.run(job.run());
    restores += job.restores();
  }
  // Jobs that never restore would prove nothing.
  if (seeds >= 5) CHECK(restores > 0);
}

// ---- reports ------------------------------------------------------------------------------------

TEST_CASE("vault report: it is read as it is written", "[vault]") {
  detail::vault_report report;
  report.node = "a";
  report.base_rank = 2;
  report.workers = 2;
  report.commits = {{2, 4, {7, 8}, false}, {3, 4, {7, 8}, true}};
  report.complete = {7, 8};
  report.restored = {6, 5};
  report.restores = 1;
  CHECK(detail::parse_vault_report(text_of(report)) == report);
}

TEST_CASE("vault report: what another node claims has bounds", "[vault]") {
  const auto with = [](const char* commits) {
    return fmt::format(R"({{"node": "a", "base_rank": 0, "workers": 1, "commits": {}, )"
                       R"("complete_epoch": 0, "complete_number": 0, "restored_epoch": 0, )"
                       R"("restored_number": 0, "restores": 0}})",
                       commits);
  };
  CHECK(detail::parse_vault_report(with("[[1, 2, 4, 3, 0]]")).commits.size() == 1);
  for (const char* const commits :
       {"[[1, 2, 4, 4, 0]]", "[[1, 2, 4, -1, 0]]", "[[1, 2, 4, 3]]", "[3]", "{}",
        "[[1, 2, 99999999999, 3, 0]]", "[[1, 18446744073709551615, 4, 3, 0]]",
        "[[1, \"2\", 4, 3, 0]]"}) {
    CAPTURE(commits);
    CHECK_THROWS_AS(detail::parse_vault_report(with(commits)), error);
  }
}

}  // namespace vault_nodes_test

}  // namespace
}  // namespace elastic

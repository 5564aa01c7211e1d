// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A leader that is found through a registry: the other nodes of its round may continue without it
// once all of them have lost it, so its own node must not have workers then.

#include <elastic/nodes/detail/rendezvous_coordinator.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <variant>
#include <vector>

namespace own_fence_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::duration;
using elastic::detail::node_id;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::rendezvous_coordinator;

/// A leader on node 1, whose round has nodes 1 to 3; node 4 waits. The witness of a node has its
/// number and 10.
struct leader {
  leader() {
    settings.min_nodes = 1;
    settings.max_nodes = 3;
    job.inherit({}, own_node, settings, start, start);
    job.fence_own_node();
    for (std::uint64_t node = 1; node <= 4; ++node) enter(node);
    job.take_answers();
  }

  static node_id name(std::uint64_t number) { return {"host", 7, 0, {number, number + 100}}; }

  void enter(std::uint64_t node) {
    hello greeting;
    greeting.run_id = "job";
    greeting.node = name(node);
    greeting.settings = settings;
    job.connected(node, {});
    job.received(node, greeting, start);
    job.connected(node + 10, {});
    job.received(node + 10, witness{"job", name(node)}, start);
    job.received(node, join{-1, 60s, {}}, start);
  }
  void lose(std::uint64_t node, duration after) {
    job.disconnected(node, start + after);
    job.disconnected(node + 10, start + after);
  }
  /// Whether the leader has ended the connections of its own node by then.
  bool is_fenced_by(duration after) {
    const auto dropped_by = [this](duration when) {
      job.advance(start + when);
      const auto dropped = job.take_dropped();
      return std::find(dropped.begin(), dropped.end(), own_node) != dropped.end();
    };
    for (duration when = 0ms; when <= after; when += 10ms) {
      if (dropped_by(when)) return true;
    }
    return false;
  }

  rendezvous_settings settings;
  std::uint64_t own_node = 1;
  time_point start{1h};
  rendezvous_coordinator job{"job"};
};

TEST_CASE("own fence: alone in its round, the leader's node is told at half of the grace",
          "[rendezvous]") {
  leader job;
  REQUIRE(job.job.state().complete);
  REQUIRE(job.job.content().leader_node == 1);
  job.lose(2, 0ms);
  job.lose(3, 20ms);
  CHECK_FALSE(job.is_fenced_by(160ms));
  CHECK(job.is_fenced_by(180ms));
  // Once.
  CHECK_FALSE(job.is_fenced_by(5s));
}

TEST_CASE("own fence: the node that was told is not welcomed back to its round", "[rendezvous]") {
  leader job;
  const auto is_welcome_back = [&job](duration after) {
    hello greeting;
    greeting.run_id = "job";
    greeting.node = leader::name(1);
    greeting.settings = job.settings;
    job.job.take_answers();
    job.job.connected(41, {});
    job.job.received(41, greeting, job.start + after);
    for (const auto& answer : job.job.take_answers()) {
      if (const auto* reply = std::get_if<welcome>(&answer.what)) return reply->resumed;
    }
    throw std::logic_error("there is no welcome");
  };
  job.lose(2, 0ms);
  SECTION("it comes back before") {
    job.lose(1, 10ms);
    CHECK(is_welcome_back(20ms));
  }
  SECTION("it comes back after that") {
    job.lose(3, 0ms);
    REQUIRE(job.is_fenced_by(180ms));
    CHECK_FALSE(is_welcome_back(190ms));
  }
}

TEST_CASE("own fence: one other node of the round is enough, a node that waits is not",
          "[rendezvous]") {
  leader job;
  SECTION("node 3 is there") {
    job.lose(2, 0ms);
    CHECK_FALSE(job.is_fenced_by(5s));
  }
  SECTION("node 3 comes back in time") {
    job.lose(2, 0ms);
    job.lose(3, 0ms);
    job.job.advance(job.start + 100ms);
    hello greeting;
    greeting.run_id = "job";
    greeting.node = leader::name(3);
    greeting.settings = job.settings;
    job.job.connected(33, {});
    job.job.received(33, greeting, job.start + 100ms);
    CHECK_FALSE(job.is_fenced_by(5s));
  }
  SECTION("node 4 is there, but not in the round") {
    job.lose(2, 0ms);
    job.lose(3, 0ms);
    CHECK(job.is_fenced_by(180ms));
  }
  SECTION("a node that left in order never says that it has lost the leader") {
    job.job.received(2, leave{}, job.start);
    job.lose(3, 0ms);
    CHECK_FALSE(job.is_fenced_by(5s));
  }
}

TEST_CASE("own fence: silence of all others is their loss", "[rendezvous]") {
  leader job;
  const duration silence = job.settings.silence();
  for (duration when = 1s; when < silence + 1s; when += 1s) {
    job.job.received(1, keep_alive{}, job.start + when);
  }
  CHECK_FALSE(job.is_fenced_by(silence - 10ms));
  CHECK(job.is_fenced_by(silence + 200ms));
}

TEST_CASE("suspended job: its round goes on, and nobody gets a place", "[rendezvous]") {
  leader job;
  const auto placed_nodes = [&job] {
    std::vector<std::uint64_t> nodes;
    for (const auto& answer : job.job.take_answers()) {
      if (std::holds_alternative<placed>(answer.what)) nodes.push_back(answer.to);
    }
    return nodes;
  };
  job.job.suspend(true, job.start);
  job.job.received(2, failed{0, "rank 1 ended"}, job.start + 1s);
  for (std::uint64_t node = 1; node <= 3; ++node) {
    job.job.received(node, join{0, 10s, {}}, job.start + 1s);
  }
  CHECK(placed_nodes().empty());
  // The time in which they wait does not count.
  for (duration when = 2s; when < 40s; when += 1s) {
    for (std::uint64_t node = 1; node <= 4; ++node) {
      job.job.received(node, keep_alive{}, job.start + when);
    }
    job.job.advance(job.start + when);
  }
  CHECK(placed_nodes().empty());
  job.job.suspend(false, job.start + 40s);
  CHECK(placed_nodes().size() == 3);
}

TEST_CASE("suspended job: nodes are placed before a node that waits ends their round",
          "[rendezvous]") {
  leader job;
  job.job.suspend(true, job.start);
  job.job.received(2, failed{0, "rank 1 ended"}, job.start);
  for (std::uint64_t node = 1; node <= 3; ++node) {
    job.job.received(node, join{0, 10s, {}}, job.start);
  }
  job.job.take_answers();
  job.job.suspend(false, job.start + 1s);
  std::vector<std::uint64_t> placed_nodes;
  for (const auto& answer : job.job.take_answers()) {
    if (std::holds_alternative<placed>(answer.what)) placed_nodes.push_back(answer.to);
    if (!std::holds_alternative<changed>(answer.what)) continue;
    CHECK(std::find(placed_nodes.begin(), placed_nodes.end(), answer.to) != placed_nodes.end());
  }
  CHECK(placed_nodes.size() == 3);
}

}  // namespace own_fence_tests

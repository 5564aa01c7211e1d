// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A coordinator that takes a job up as another server left it.

#include <elastic/rendezvous/native/rendezvous_coordinator.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace inherited_round_tests {

using namespace std::chrono_literals;
using namespace elastic::rendezvous_messages;
using elastic::change_kind;
using elastic::duration;
using elastic::job_end;
using elastic::node_id;
using elastic::rendezvous_coordinator;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::register_ending;
using elastic::detail::round_register;

using texts = std::vector<std::string>;

struct in_words {
  std::string operator()(const welcome& said) const {
    return said.resumed ? "welcome back" : "welcome";
  }
  std::string operator()(const placed& said) const {
    return fmt::format("round {}: {} of {}, {} restarts", said.round, said.rank, said.world,
                       said.restarts);
  }
  std::string operator()(const changed& said) const {
    return fmt::format("round {} changes", said.round);
  }
  std::string operator()(const all_finished& said) const {
    return fmt::format("round {} finished", said.round);
  }
  std::string operator()(const closed& said) const { return "closed: " + said.why; }
  std::string operator()(const refused& said) const { return "refused: " + said.why; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "other";
  }
};

/// A server of a job of two or three nodes, which was in its round 4 of the nodes 1 and 2.
struct server {
  explicit server(duration uncertain = {}) {
    settings.min_nodes = 2;
    settings.max_nodes = 3;
    kept.round = 4;
    kept.members = {1, 2};
    kept.restarts = 3;
    uncertain_for = uncertain;
  }

  void begin() { job.inherit(kept, own_node, settings, begun, begun + uncertain_for); }

  static node_id name(std::uint64_t number) { return {"host", 7, 0, {number, number + 100}}; }

  void greet(std::uint64_t node, duration after = {}, std::optional<former_round> former = {}) {
    hello greeting;
    greeting.former = std::move(former);
    greeting.run_id = "job";
    greeting.node = name(node);
    greeting.settings = settings;
    job.connected(node, {});
    job.received(node, greeting, begun + after);
  }
  void ask(std::uint64_t node, std::int64_t round, duration after = {}) {
    job.received(node, join{round, 60s, {}}, begun + after);
  }
  texts told(std::uint64_t node) {
    for (const auto& answer : job.take_answers()) {
      if (std::holds_alternative<alive>(answer.what)) continue;
      said[answer.to].push_back(std::visit(in_words(), answer.what));
    }
    texts words = said[node];
    said[node].clear();
    return words;
  }

  rendezvous_settings settings;
  round_register kept;
  std::uint64_t own_node = 2;
  duration uncertain_for{};
  time_point begun{1h};
  rendezvous_coordinator job{"job"};
  std::map<std::uint64_t, texts> said;
};

TEST_CASE("inherited round: it ends, and the next begins when all of its nodes have joined",
          "[rendezvous]") {
  server at;
  at.begin();
  at.greet(1);
  CHECK(at.told(1) == texts{"welcome back", "round 4 changes"});
  at.ask(1, 4);
  CHECK(at.told(1).empty());
  at.greet(2);
  at.ask(2, 4);
  CHECK(at.told(2) == texts{"welcome back", "round 4 changes", "round 5: 1 of 2, 3 restarts"});
  CHECK(at.told(1) == texts{"round 5: 0 of 2, 3 restarts"});
  CHECK(at.job.content().round == 5);
  CHECK(at.job.content().members == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("inherited round: a node that never got its place in it joins all the same",
          "[rendezvous]") {
  server at;
  at.begin();
  for (const std::uint64_t node : {1, 2}) {
    at.greet(node);
    at.ask(node, 3);
  }
  CHECK(at.told(1).back() == "round 5: 0 of 2, 3 restarts");
}

TEST_CASE("inherited round: a node that says nothing is waited for as long as it may be silent",
          "[rendezvous]") {
  server at;
  at.begin();
  at.greet(1);
  at.ask(1, 4);
  at.greet(3);
  at.ask(3, -1);
  at.told(1);
  at.told(3);
  at.job.received(1, keep_alive{}, at.begun + 10s);
  at.job.received(3, keep_alive{}, at.begun + 10s);
  at.job.advance(at.begun + 14900ms);
  CHECK(at.told(1).empty());
  at.job.advance(at.begun + 15s);
  CHECK(at.told(1) == texts{"round 5: 0 of 2, 3 restarts"});
  CHECK(at.told(3).back() == "round 5: 1 of 2, 3 restarts");
}

TEST_CASE("inherited round: where the newest may not be known none begins before it is over",
          "[rendezvous]") {
  server at(15s);
  at.kept = round_register();
  at.begin();
  for (const std::uint64_t node : {1, 2}) {
    at.greet(node);
    at.ask(node, -1);
  }
  CHECK(at.told(1) == texts{"welcome"});
  at.job.received(1, keep_alive{}, at.begun + 10s);
  at.job.received(2, keep_alive{}, at.begun + 10s);
  at.job.advance(at.begun + 15s);
  CHECK(at.told(1).back().find("0 of 2") != std::string::npos);
}

TEST_CASE("inherited round: who came before its nodes stands back for them, and has a single place",
          "[rendezvous]") {
  server at(5s);
  at.settings.min_nodes = 1;
  at.settings.max_nodes = 2;
  at.kept = {};
  at.begin();
  at.greet(3);
  at.ask(3, -1);
  for (const std::uint64_t node : {1, 2}) {
    former_round place;
    place.round = 4;
    place.rank = static_cast<int>(node) - 1;
    place.world = 2;
    place.until_end = true;
    at.greet(node, 1s, place);
    at.ask(node, 4, 1s);
  }
  for (const duration after : {5s, 10s, 16s}) {
    at.job.advance(at.begun + after);
    for (const std::uint64_t node : {1, 2, 3})
      at.job.received(node, keep_alive{}, at.begun + after);
  }
  CHECK(at.told(1).back() == "round 5: 0 of 2, 0 restarts");
  CHECK(at.told(2).back() == "round 5: 1 of 2, 0 restarts");
}

TEST_CASE("inherited round: its end is told to whoever did not hear it", "[rendezvous]") {
  server at;
  SECTION("the workers of all nodes have succeeded") {
    at.kept.all_finished = true;
    at.begin();
    at.greet(1);
    CHECK(at.told(1) == texts{"welcome back", "closed: all workers succeeded"});
    at.ask(1, 4);
    CHECK(at.told(1).back() == "closed: all workers succeeded");
  }
  SECTION("the job is closed") {
    at.kept.ending = register_ending{job_end::succeeded, "all is done"};
    at.begin();
    at.greet(1);
    CHECK(at.told(1) == texts{"welcome back", "closed: all is done"});
    at.greet(3);
    CHECK(at.told(3).back() == "closed: all is done");
  }
}

TEST_CASE("inherited round: what a server needs to know is what its nodes were told",
          "[rendezvous]") {
  server at;
  at.kept.leader_node = 9;
  at.begin();
  CHECK(elastic::detail::has_same_content(at.job.content(), at.kept));
}

TEST_CASE("inherited round: the server's own node is named with a round that this server made",
          "[rendezvous]") {
  server at;
  SECTION("in which it is") {}
  SECTION("in which it is not") { at.own_node = 3; }
  at.begin();
  // Its workers of the round before live by the lease of the server before.
  CHECK(at.job.content().leader_node == 0);
  for (const std::uint64_t node : {1, 2}) {
    at.greet(node);
    at.ask(node, 4);
  }
  REQUIRE(at.job.content().round == 5);
  CHECK(at.job.content().leader_node == (at.own_node == 2 ? 2U : 0U));
}

TEST_CASE("inherited round: a node with other sizes is refused", "[rendezvous]") {
  server at;
  at.kept = round_register();
  at.begin();
  at.settings.max_nodes = 5;
  at.greet(1);
  CHECK(at.told(1).back().find("another --nnodes") != std::string::npos);
}

}  // namespace inherited_round_tests

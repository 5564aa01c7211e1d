// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A coordinator that takes over a job from another server.

#include <elastic/nodes/detail/rendezvous_coordinator.hpp>

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
using namespace elastic::detail::rendezvous_messages;
using elastic::duration;
using elastic::detail::node_id;
using elastic::rendezvous_change;
using elastic::rendezvous_handler;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::job_ending;
using elastic::detail::rendezvous_coordinator;
using elastic::detail::round_register;

using texts = std::vector<std::string>;

struct answer_text {
  std::string operator()(const welcome& answer) const {
    return answer.resumed ? "welcome back" : "welcome";
  }
  std::string operator()(const placed& answer) const {
    return fmt::format("round {}: {} of {}, {} restarts", answer.round, answer.rank, answer.world,
                       answer.restarts);
  }
  std::string operator()(const changed& answer) const {
    return fmt::format("round {} changes", answer.round);
  }
  std::string operator()(const all_finished& answer) const {
    return fmt::format("round {} finished", answer.round);
  }
  std::string operator()(const closed& answer) const { return "closed: " + answer.why; }
  std::string operator()(const refused& answer) const { return "refused: " + answer.why; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "other";
  }
};

/// A server of a job of two or three nodes, which was in its round 4 of the nodes 1 and 2.
struct server {
  explicit server(duration span = {}) {
    settings.min_nodes = 2;
    settings.max_nodes = 3;
    last_register.round = 4;
    last_register.members = {1, 2};
    last_register.restarts = 3;
    uncertainty = span;
  }

  void begin() { job.inherit(last_register, own_node, settings, start, start + uncertainty); }

  static node_id name(std::uint64_t number) { return {"host", 7, 0, {number, number + 100}}; }

  void greet(std::uint64_t node, duration delay = {}, std::optional<former_round> former = {}) {
    hello greeting;
    greeting.former = std::move(former);
    greeting.run_id = "job";
    greeting.node = name(node);
    greeting.settings = settings;
    job.connected(node, {});
    job.received(node, greeting, start + delay);
  }
  void ask(std::uint64_t node, std::int64_t round, duration delay = {}) {
    job.received(node, join{round, 60s, {}}, start + delay);
  }
  texts take_texts(std::uint64_t node) {
    for (const auto& answer : job.take_answers()) {
      if (std::holds_alternative<alive>(answer.what)) continue;
      unread_texts[answer.to].push_back(std::visit(answer_text(), answer.what));
    }
    texts result = unread_texts[node];
    unread_texts[node].clear();
    return result;
  }

  rendezvous_settings settings;
  round_register last_register;
  std::uint64_t own_node = 2;
  duration uncertainty{};
  time_point start{1h};
  rendezvous_coordinator job{"job"};
  std::map<std::uint64_t, texts> unread_texts;
};

TEST_CASE("inherited round: it ends, and the next begins when all of its nodes have joined",
          "[rendezvous]") {
  server new_server;
  new_server.begin();
  new_server.greet(1);
  CHECK(new_server.take_texts(1) == texts{"welcome back", "round 4 changes"});
  new_server.ask(1, 4);
  CHECK(new_server.take_texts(1).empty());
  new_server.greet(2);
  new_server.ask(2, 4);
  CHECK(new_server.take_texts(2) ==
        texts{"welcome back", "round 4 changes", "round 5: 1 of 2, 3 restarts"});
  CHECK(new_server.take_texts(1) == texts{"round 5: 0 of 2, 3 restarts"});
  CHECK(new_server.job.content().round == 5);
  CHECK(new_server.job.content().members == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("inherited round: a node that never got its place in it joins all the same",
          "[rendezvous]") {
  server new_server;
  new_server.begin();
  for (const std::uint64_t node : {1, 2}) {
    new_server.greet(node);
    new_server.ask(node, 3);
  }
  CHECK(new_server.take_texts(1).back() == "round 5: 0 of 2, 3 restarts");
}

TEST_CASE("inherited round: a node that is placed after its round is to end learns both",
          "[rendezvous]") {
  server new_server;
  new_server.last_register.members = {3};
  new_server.begin();
  new_server.greet(3);
  new_server.ask(3, 4);
  // Two nodes come while no round may begin. The first completes the round, and the second ends it.
  new_server.job.suspend(true, new_server.start);
  for (const std::uint64_t node : {1, 2}) {
    new_server.greet(node);
    new_server.ask(node, -1);
  }
  new_server.take_texts(3);
  new_server.job.suspend(false, new_server.start + 1s);
  CHECK(new_server.take_texts(1) ==
        texts{"welcome", "round 5: 0 of 2, 3 restarts", "round 5 changes"});
  CHECK(new_server.take_texts(3) == texts{"round 5: 1 of 2, 3 restarts", "round 5 changes"});
}

TEST_CASE("inherited round: a node that says nothing is waited for as long as it may be silent",
          "[rendezvous]") {
  server new_server;
  new_server.begin();
  new_server.greet(1);
  new_server.ask(1, 4);
  new_server.greet(3);
  new_server.ask(3, -1);
  new_server.take_texts(1);
  new_server.take_texts(3);
  new_server.job.received(1, keep_alive{}, new_server.start + 10s);
  new_server.job.received(3, keep_alive{}, new_server.start + 10s);
  new_server.job.advance(new_server.start + 14900ms);
  CHECK(new_server.take_texts(1).empty());
  new_server.job.advance(new_server.start + 15s);
  CHECK(new_server.take_texts(1) == texts{"round 5: 0 of 2, 3 restarts"});
  CHECK(new_server.take_texts(3).back() == "round 5: 1 of 2, 3 restarts");
}

TEST_CASE("inherited round: where the newest may not be known none begins before it is over",
          "[rendezvous]") {
  server new_server(15s);
  new_server.last_register = round_register();
  new_server.begin();
  for (const std::uint64_t node : {1, 2}) {
    new_server.greet(node);
    new_server.ask(node, -1);
  }
  CHECK(new_server.take_texts(1) == texts{"welcome"});
  new_server.job.received(1, keep_alive{}, new_server.start + 10s);
  new_server.job.received(2, keep_alive{}, new_server.start + 10s);
  new_server.job.advance(new_server.start + 15s);
  CHECK(new_server.take_texts(1).back().find("0 of 2") != std::string::npos);
}

TEST_CASE("inherited round: who came before its nodes stands back for them, and has a single place",
          "[rendezvous]") {
  server new_server(5s);
  new_server.settings.min_nodes = 1;
  new_server.settings.max_nodes = 2;
  new_server.last_register = {};
  new_server.begin();
  new_server.greet(3);
  new_server.ask(3, -1);
  for (const std::uint64_t node : {1, 2}) {
    former_round former;
    former.round = 4;
    former.rank = static_cast<int>(node) - 1;
    former.world = 2;
    former.until_end = true;
    new_server.greet(node, 1s, former);
    new_server.ask(node, 4, 1s);
  }
  for (const duration delay : {5s, 10s, 16s}) {
    new_server.job.advance(new_server.start + delay);
    for (const std::uint64_t node : {1, 2, 3})
      new_server.job.received(node, keep_alive{}, new_server.start + delay);
  }
  CHECK(new_server.take_texts(1).back() == "round 5: 0 of 2, 0 restarts");
  CHECK(new_server.take_texts(2).back() == "round 5: 1 of 2, 0 restarts");
}

TEST_CASE("inherited round: its end is told to whoever did not hear it", "[rendezvous]") {
  server new_server;
  SECTION("the workers of all nodes have succeeded") {
    new_server.last_register.all_finished = true;
    new_server.begin();
    new_server.greet(1);
    CHECK(new_server.take_texts(1) == texts{"welcome back", "closed: all workers succeeded"});
    new_server.ask(1, 4);
    CHECK(new_server.take_texts(1).back() == "closed: all workers succeeded");
  }
  SECTION("the job is closed") {
    new_server.last_register.ending =
        job_ending{rendezvous_handler::job_end::succeeded, "all is done"};
    new_server.begin();
    new_server.greet(1);
    CHECK(new_server.take_texts(1) == texts{"welcome back", "closed: all is done"});
    new_server.greet(3);
    CHECK(new_server.take_texts(3).back() == "closed: all is done");
  }
}

TEST_CASE("inherited round: what a server needs to know is what its nodes were told",
          "[rendezvous]") {
  server new_server;
  new_server.last_register.leader_node = 9;
  new_server.begin();
  CHECK(elastic::detail::has_same_content(new_server.job.content(), new_server.last_register));
}

TEST_CASE("inherited round: the server's own node is named with a round that this server made",
          "[rendezvous]") {
  server new_server;
  SECTION("in which it is") {}
  SECTION("in which it is not") { new_server.own_node = 3; }
  new_server.begin();
  // Its workers of the round before live by the lease of the server before.
  CHECK(new_server.job.content().leader_node == 0);
  for (const std::uint64_t node : {1, 2}) {
    new_server.greet(node);
    new_server.ask(node, 4);
  }
  REQUIRE(new_server.job.content().round == 5);
  CHECK(new_server.job.content().leader_node == (new_server.own_node == 2 ? 2U : 0U));
}

TEST_CASE("inherited round: a node with other sizes is refused", "[rendezvous]") {
  server new_server;
  new_server.last_register = round_register();
  new_server.begin();
  new_server.settings.max_nodes = 5;
  new_server.greet(1);
  CHECK(new_server.take_texts(1).back().find("the numbers of nodes differ") != std::string::npos);
}

}  // namespace inherited_round_tests

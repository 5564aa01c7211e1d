// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/native/detail/vote_machine.hpp>

#include <support/catch.hpp>
#include <support/simulation_seeds.hpp>
#include <support/vote_world.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vote_machine_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::candidate_messages;
namespace said = elastic::detail::candidate_messages;
using elastic::time_point;
using elastic::detail::candidate_answer;
using elastic::detail::round_register;
using elastic::detail::vote_machine;
using elastic::detail::vote_role;
using elastic::detail::vote_rules;
using elastic::test::number_from;
using elastic::test::vote_world;

constexpr time_point begin{1h};

/// The candidate 0 of three, with a silence of 15 s and a grace of 0.3 s, and what the others say.
struct stage {
  explicit stage(bool has_restarted = false) : core(options(has_restarted), begin, 1000) {
    for (const int peer : {1, 2}) {
      core.reached(peer, now);
      core.entered(peer, 100 + static_cast<std::uint64_t>(peer), now);
    }
  }

  static vote_machine::options options(bool has_restarted) {
    vote_machine::options chosen;
    chosen.candidates = 3;
    chosen.node = 50;
    chosen.has_restarted = has_restarted;
    return chosen;
  }

  void at(elastic::duration after) {
    now = begin + after;
    core.advance(now);
  }

  /// It asks the others, and then runs.
  void ask() {
    while (core.role() == vote_role::follows) at(core.next_deadline() - begin);
    REQUIRE(core.role() == vote_role::asks);
    core.take_questions();
  }
  void answer_try(int peer, bool yes, bool is_blank) {
    core.received(peer, grant{0, true, yes, is_blank, false, 0, {}}, now);
  }
  void vote(int peer, std::optional<round_register> value = {}, bool has_restarted = false) {
    const bool is_blank = !value;
    core.received(peer, grant{core.term(), false, true, is_blank, has_restarted, 0, value}, now);
  }
  void refuse(int peer) {
    core.received(peer, grant{core.term(), false, false, false, false, 0, {}}, now);
  }
  void acknowledge(int peer) {
    core.received(peer,
                  ack{core.term(), true, core.value().sequence, now.time_since_epoch().count(), 0},
                  now);
  }
  /// Everybody is blank: it leads.
  void lead() {
    ask();
    answer_try(1, false, true);
    answer_try(2, false, true);
    REQUIRE(core.role() == vote_role::runs);
    vote(1);
    acknowledge(1);
    REQUIRE(core.serves());
  }
  /// Candidate 1 leads.
  void follow(std::int64_t term = 5, std::int64_t sequence = 1) {
    round_register value;
    value.term = term;
    value.sequence = sequence;
    core.received(1, said::write{term, 3, value}, now);
    core.take_replies();
  }

  template <class Answer>
  Answer reply() {
    const auto replies = core.take_replies();
    REQUIRE(replies.size() == 1);
    return std::get<Answer>(replies[0].answer);
  }
  bool would_vote(int peer, std::int64_t term = 1'000'000) {
    core.received(peer, elastic::detail::candidate_messages::vote{term, true, false}, now);
    return reply<grant>().yes;
  }

  time_point now = begin;
  vote_machine core;
};

TEST_CASE("vote machine: candidates that know nothing begin at once if all say so",
          "[rendezvous]") {
  stage one;
  one.lead();
  CHECK(one.core.uncertain_until() <= one.now);
  CHECK_FALSE(one.core.value().is_uncertain);
}

TEST_CASE("vote machine: of candidates that know nothing the first one begins", "[rendezvous]") {
  vote_machine::options options = stage::options(false);
  options.self = 1;
  vote_machine core(options, begin, 1000);
  for (const int peer : {0, 2}) {
    core.reached(peer, begin);
    core.entered(peer, 100 + static_cast<std::uint64_t>(peer), begin);
  }
  time_point now = begin;
  for (int tries = 0; tries < 3; ++tries) {
    now = core.next_deadline();
    core.advance(now);
    REQUIRE(core.role() == vote_role::asks);
    for (const int peer : {0, 2}) {
      core.received(peer, grant{0, true, false, true, false, 0, {}}, now);
    }
    CHECK(core.role() == vote_role::follows);
  }
  round_register value;
  value.term = 1005;
  value.sequence = 1;
  core.received(0, said::write{1005, 1, value}, now);
  CHECK(core.term() == 1005);
}

TEST_CASE("vote machine: with one missing they wait until nobody can be bound any more",
          "[rendezvous]") {
  stage one;
  one.core.lost(2, one.now);
  one.at(14900ms);
  CHECK(one.core.role() == vote_role::follows);
  one.at(15s);
  one.ask();
  one.answer_try(1, true, true);
  REQUIRE(one.core.role() == vote_role::runs);
  one.vote(1);
  one.acknowledge(1);
  CHECK(one.core.serves());
  // What they knew may have been forgotten.
  CHECK(one.core.uncertain_until() == one.now + 15s);
  CHECK(one.core.value().is_uncertain);
  one.acknowledge(1);
  one.at(20s);
  one.acknowledge(1);
  one.at(25s);
  one.acknowledge(1);
  one.at(31s);
  CHECK_FALSE(one.core.value().is_uncertain);
}

TEST_CASE("vote machine: one that was there before is not believed to know all", "[rendezvous]") {
  stage one;
  one.ask();
  one.answer_try(1, false, true);
  one.answer_try(2, false, true);
  one.vote(1, {}, true);
  one.acknowledge(1);
  CHECK(one.core.uncertain_until() == one.now + 15s);
}

TEST_CASE("vote machine: a voter is bound until its leader has certainly given up",
          "[rendezvous]") {
  stage one;
  one.follow();
  CHECK_FALSE(one.would_vote(2));
  one.at(14900ms);
  CHECK_FALSE(one.would_vote(2));
  one.at(15s);
  CHECK(one.would_vote(2));

  SECTION("an end of both connections frees it after the grace") {
    one.follow(6);
    one.core.left(1, one.now);
    one.core.lost(1, one.now + 10ms);
    one.at(15s + 309ms);
    CHECK_FALSE(one.would_vote(2));
    one.at(15s + 310ms);
    CHECK(one.would_vote(2));
  }
  SECTION("also if one of them ends long after the other") {
    one.follow(6);
    one.core.left(1, one.now);
    one.core.lost(1, one.now + 290ms);
    one.at(15s + 589ms);
    CHECK_FALSE(one.would_vote(2));
    one.at(15s + 590ms);
    CHECK(one.would_vote(2));
  }
  SECTION("the end of one of them does not") {
    one.follow(6);
    one.core.left(1, one.now);
    one.at(20s);
    CHECK_FALSE(one.would_vote(2));
    one.at(30s);
    CHECK(one.would_vote(2));
  }
  SECTION("nor does that of both, one long after the other") {
    one.follow(6);
    one.core.left(1, one.now);
    one.core.lost(1, one.now + 310ms);
    one.at(20s);
    CHECK_FALSE(one.would_vote(2));
  }
  SECTION("another agent at its port frees it after the grace") {
    one.follow(6);
    one.core.entered(1, 999, one.now);
    one.at(15s + 299ms);
    CHECK_FALSE(one.would_vote(2));
    one.at(15s + 300ms);
    CHECK(one.would_vote(2));
  }
  SECTION("it is not bound to that other agent, nor freed by its words or its end") {
    one.follow(6);
    one.core.entered(1, 999, one.now);
    CHECK_FALSE(one.would_vote(1));
    one.core.received(1, resign{7, false}, one.now);
    CHECK_FALSE(one.would_vote(2));
    one.at(15s + 300ms);
    CHECK(one.would_vote(1));
  }
  SECTION("another agent at another host in its place does not show that it is gone") {
    one.follow(6);
    one.core.entered(1, 999, one.now, false);
    one.core.left(1, one.now);
    one.core.lost(1, one.now);
    one.at(29s);
    CHECK_FALSE(one.would_vote(1));
    CHECK_FALSE(one.would_vote(2));
    one.at(30s);
    CHECK(one.would_vote(2));
  }
  SECTION("a resignation frees it at once") {
    one.follow(6);
    one.core.received(1, resign{6, false}, one.now);
    CHECK(one.would_vote(2));
    CHECK_FALSE(one.core.is_done());
  }
}

TEST_CASE("vote machine: a leader that a majority does not hear steps down", "[rendezvous]") {
  stage one;
  one.lead();
  SECTION("by silence") {
    one.at(11s);
    CHECK(one.core.serves());
    one.at(11300ms);
    CHECK_FALSE(one.core.serves());
  }
  SECTION("by the end of the connection to the one that follows it") {
    one.at(1s);
    one.core.lost(1, one.now);
    CHECK(one.core.serves());
    one.at(1150ms);
    CHECK_FALSE(one.core.serves());
    one.core.take_questions();
    // It is bound to itself until the workers of its node are gone, and says so then.
    CHECK_FALSE(one.would_vote(2));
    one.at(1300ms);
    const auto questions = one.core.take_questions();
    REQUIRE_FALSE(questions.empty());
    CHECK(std::holds_alternative<resign>(questions[0].request));
    CHECK(one.would_vote(2));
  }
  SECTION("unless another one does") {
    one.at(1s);
    one.core.lost(1, one.now);
    one.acknowledge(2);
    one.at(2s);
    CHECK(one.core.serves());
  }
}

TEST_CASE("vote machine: what is not with a majority is not kept", "[rendezvous]") {
  stage one;
  one.lead();
  CHECK(one.core.is_kept());
  round_register next = one.core.value();
  next.round = 0;
  next.members = {1, 2};
  CHECK(one.core.propose(next, one.now));
  CHECK_FALSE(one.core.is_kept());
  CHECK_FALSE(one.core.propose(next, one.now));
  one.acknowledge(2);
  CHECK(one.core.is_kept());
}

TEST_CASE("vote machine: the newest register of a majority is the one that goes on",
          "[rendezvous]") {
  stage one;
  one.follow(5, 2);
  one.core.received(1, resign{5, false}, one.now);
  one.ask();
  one.answer_try(1, true, false);
  round_register newest;
  newest.term = 5;
  newest.sequence = 9;
  newest.round = 4;
  newest.members = {7, 101, 50};
  newest.leader_node = 101;
  one.vote(1, newest);
  one.acknowledge(1);
  REQUIRE(one.core.serves());
  CHECK(one.core.value().round == 4);
  // The leader before is accounted for.
  CHECK(one.core.value().members == std::vector<std::uint64_t>{7, 50});
  CHECK(one.core.uncertain_until() <= one.now);
  CHECK(one.core.term() > 5);
}

TEST_CASE(
    "vote machine: a leader's own node does not end with its lease in a round that another made",
    "[rendezvous]") {
  stage one;
  one.follow(5, 2);
  one.core.received(1, resign{5, false}, one.now);
  one.ask();
  one.answer_try(1, true, false);
  round_register newest;
  newest.term = 5;
  newest.sequence = 9;
  newest.round = 4;
  newest.members = {50, 101, 102};
  newest.leader_node = 101;
  one.vote(1, newest);
  CHECK(one.core.value().leader_node == 0);
  // A leader after this one waits for it.
  CHECK(one.core.value().members == std::vector<std::uint64_t>{50, 102});
}

TEST_CASE("vote machine: a doubt outlives the leader that had it", "[rendezvous]") {
  stage one;
  round_register doubtful;
  doubtful.term = 5;
  doubtful.sequence = 1;
  doubtful.is_uncertain = true;
  one.core.received(1, said::write{5, 3, doubtful}, one.now);
  one.core.received(1, resign{5, false}, one.now);
  one.core.take_replies();
  one.ask();
  one.answer_try(2, true, false);
  one.vote(2, doubtful);
  one.acknowledge(2);
  CHECK(one.core.uncertain_until() == one.now + 15s);
}

TEST_CASE("vote machine: who loses an election says so, and tries again", "[rendezvous]") {
  stage one;
  one.ask();
  one.answer_try(1, false, true);
  one.answer_try(2, false, true);
  REQUIRE(one.core.role() == vote_role::runs);
  one.core.take_questions();
  one.refuse(1);
  one.refuse(2);
  CHECK(one.core.role() == vote_role::follows);
  const auto questions = one.core.take_questions();
  REQUIRE(questions.size() == 2);
  CHECK(std::holds_alternative<resign>(questions[0].request));
  one.ask();
}

TEST_CASE("vote machine: a write of an older term is refused, and makes its leader run again",
          "[rendezvous]") {
  stage one;
  one.follow(9);
  one.core.received(2, said::write{8, 4, {}}, one.now);
  const ack refused = one.reply<ack>();
  CHECK_FALSE(refused.is_taken);
  CHECK(refused.own_term == 9);

  stage leader;
  leader.lead();
  const std::int64_t term = leader.core.term();
  leader.core.received(1, ack{term, false, 0, 0, term + 500}, leader.now);
  CHECK_FALSE(leader.core.serves());
  leader.at(1s);
  leader.ask();
  leader.answer_try(1, true, false);
  CHECK(leader.core.term() > term + 500);
}

TEST_CASE("vote machine: terms go beyond those that nodes know", "[rendezvous]") {
  stage leader;
  leader.lead();
  const std::int64_t term = leader.core.term();
  leader.core.told_term(term, leader.now);
  CHECK(leader.core.serves());
  leader.core.told_term(term + 500, leader.now);
  CHECK_FALSE(leader.core.serves());
  leader.at(1s);
  leader.ask();
  leader.answer_try(1, true, false);
  CHECK(leader.core.term() > term + 500);

  stage follower;
  follower.follow(9);
  follower.core.told_term(20, follower.now);
  follower.core.received(1, said::write{9, 4, {}}, follower.now);
  const ack refused = follower.reply<ack>();
  // So the leader hears of it.
  CHECK_FALSE(refused.is_taken);
  CHECK(refused.own_term == 20);
}

TEST_CASE("vote machine: a leader that leaves frees the others, and votes no more",
          "[rendezvous]") {
  stage one;
  one.lead();
  one.core.take_questions();
  one.core.retire(true, one.now);
  const auto questions = one.core.take_questions();
  REQUIRE(questions.size() == 2);
  CHECK(std::get<resign>(questions[0].request).is_done);
  CHECK_FALSE(one.would_vote(1));
  CHECK(one.core.role() == vote_role::follows);
}

TEST_CASE("vote machine: whatever happens, one candidate leads and knows the newest round",
          "[rendezvous]") {
  const std::uint64_t first = number_from("ELASTIC_SIMULATION_FIRST", 1);
  const std::uint64_t seeds = number_from("ELASTIC_SIMULATION_SEEDS", 300);
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    vote_world world(seed, {});
    const std::string complaint = world.run();
    rounds += static_cast<std::uint64_t>(world.rounds());
    if (complaint.empty()) continue;
    for (const std::string& line : world.notes()) UNSCOPED_INFO(line);
    FAIL("seed " << seed << ": " << complaint);
  }
  CHECK(rounds > 10 * seeds);
}

TEST_CASE("vote machine: without any one of its rules something breaks", "[rendezvous]") {
  struct row {
    const char* name;
    bool vote_rules::* rule;
    /// A seed with which it does, and some that follow.
    int seed;
  };
  const row rows[] = {{"promises", &vote_rules::promises, 1},
                      {"leases", &vote_rules::leases, 1},
                      {"blank_waits", &vote_rules::blank_waits, 2013},
                      {"uncertainty", &vote_rules::uncertainty, 3596},
                      {"own_stop", &vote_rules::own_stop, 1},
                      {"terms", &vote_rules::terms, 1}};
  constexpr int tries = 300;
  for (const row& entry : rows) {
    vote_rules rules;
    rules.*entry.rule = false;
    std::string complaint;
    for (int seed = entry.seed; seed < entry.seed + tries && complaint.empty(); ++seed) {
      complaint = vote_world(static_cast<std::uint64_t>(seed), rules).run();
    }
    CAPTURE(entry.name);
    CHECK_FALSE(complaint.empty());
  }
}

}  // namespace vote_machine_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/vote_machine.hpp>

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
namespace messages = elastic::detail::candidate_messages;
using elastic::time_point;
using elastic::detail::candidate_answer;
using elastic::detail::round_register;
using elastic::detail::vote_machine;
using elastic::detail::vote_role;
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
  void answer_try(int peer, bool yes, bool is_blank, bool has_restarted = false) {
    core.received(peer, grant{0, true, yes, is_blank, has_restarted, 0, {}}, now);
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
    core.received(1, messages::write{term, 3, value}, now);
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
    return reply<grant>().is_granted;
  }

  time_point now = begin;
  vote_machine core;
};

TEST_CASE("vote machine: candidates that know nothing begin at once if all say so",
          "[rendezvous]") {
  stage candidate;
  candidate.lead();
  CHECK(candidate.core.uncertain_until() <= candidate.now);
  CHECK_FALSE(candidate.core.value().is_uncertain);
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
  core.received(0, messages::write{1005, 1, value}, now);
  CHECK(core.term() == 1005);
}

TEST_CASE("vote machine: with one missing they wait until nobody can be bound any more",
          "[rendezvous]") {
  stage candidate;
  candidate.core.lost(2, candidate.now);
  candidate.at(14900ms);
  CHECK(candidate.core.role() == vote_role::follows);
  candidate.at(15s);
  candidate.ask();
  candidate.answer_try(1, true, true);
  REQUIRE(candidate.core.role() == vote_role::runs);
  candidate.vote(1);
  candidate.acknowledge(1);
  CHECK(candidate.core.serves());
  // What they knew may have been forgotten.
  CHECK(candidate.core.uncertain_until() == candidate.now + 15s);
  CHECK(candidate.core.value().is_uncertain);
  candidate.acknowledge(1);
  candidate.at(20s);
  candidate.acknowledge(1);
  candidate.at(25s);
  candidate.acknowledge(1);
  candidate.at(31s);
  CHECK_FALSE(candidate.core.value().is_uncertain);
}

TEST_CASE("vote machine: one that was there before is not believed to know all", "[rendezvous]") {
  stage candidate;
  candidate.ask();
  // Whose vote comes first does not matter.
  const int restarted = GENERATE(1, 2);
  for (const int peer : {1, 2}) candidate.answer_try(peer, false, true, peer == restarted);
  candidate.vote(1, {}, restarted == 1);
  candidate.acknowledge(1);
  CHECK(candidate.core.uncertain_until() == candidate.now + 15s);
}

TEST_CASE("vote machine: a voter is bound until its leader has certainly given up",
          "[rendezvous]") {
  stage candidate;
  candidate.follow();
  CHECK_FALSE(candidate.would_vote(2));
  candidate.at(14900ms);
  CHECK_FALSE(candidate.would_vote(2));
  candidate.at(15s);
  CHECK(candidate.would_vote(2));

  SECTION("an end of both connections frees it after the grace") {
    candidate.follow(6);
    candidate.core.left(1, candidate.now);
    candidate.core.lost(1, candidate.now + 10ms);
    candidate.at(15s + 309ms);
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(15s + 310ms);
    CHECK(candidate.would_vote(2));
  }
  SECTION("also if one of them ends long after the other") {
    candidate.follow(6);
    candidate.core.left(1, candidate.now);
    candidate.core.lost(1, candidate.now + 290ms);
    candidate.at(15s + 589ms);
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(15s + 590ms);
    CHECK(candidate.would_vote(2));
  }
  SECTION("the end of one of them does not") {
    candidate.follow(6);
    candidate.core.left(1, candidate.now);
    candidate.at(20s);
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(30s);
    CHECK(candidate.would_vote(2));
  }
  SECTION("nor does that of both, one long after the other") {
    candidate.follow(6);
    candidate.core.left(1, candidate.now);
    candidate.core.lost(1, candidate.now + 310ms);
    candidate.at(20s);
    CHECK_FALSE(candidate.would_vote(2));
  }
  SECTION("another agent at its port frees it after the grace") {
    candidate.follow(6);
    candidate.core.entered(1, 999, candidate.now);
    candidate.at(15s + 299ms);
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(15s + 300ms);
    CHECK(candidate.would_vote(2));
  }
  SECTION("it is not bound to that other agent, nor freed by its words or its end") {
    candidate.follow(6);
    candidate.core.entered(1, 999, candidate.now);
    CHECK_FALSE(candidate.would_vote(1));
    candidate.core.received(1, resign{7, false}, candidate.now);
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(15s + 300ms);
    CHECK(candidate.would_vote(1));
  }
  SECTION("another agent at another host in its place does not show that it is gone") {
    candidate.follow(6);
    candidate.core.entered(1, 999, candidate.now, false);
    candidate.core.left(1, candidate.now);
    candidate.core.lost(1, candidate.now);
    candidate.at(29s);
    CHECK_FALSE(candidate.would_vote(1));
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(30s);
    CHECK(candidate.would_vote(2));
  }
  SECTION("a resignation frees it at once") {
    candidate.follow(6);
    candidate.core.received(1, resign{6, false}, candidate.now);
    CHECK(candidate.would_vote(2));
    CHECK_FALSE(candidate.core.is_done());
  }
}

TEST_CASE("vote machine: a leader that a majority does not hear steps down", "[rendezvous]") {
  stage candidate;
  candidate.lead();
  SECTION("by silence") {
    candidate.at(11s);
    CHECK(candidate.core.serves());
    candidate.at(11300ms);
    CHECK_FALSE(candidate.core.serves());
  }
  SECTION("by the end of the connection to the one that follows it") {
    candidate.at(1s);
    candidate.core.lost(1, candidate.now);
    CHECK(candidate.core.serves());
    candidate.at(1150ms);
    CHECK_FALSE(candidate.core.serves());
    candidate.core.take_questions();
    // It is bound to itself until the workers of its node are gone, and says so then.
    CHECK_FALSE(candidate.would_vote(2));
    candidate.at(1300ms);
    const auto questions = candidate.core.take_questions();
    REQUIRE_FALSE(questions.empty());
    CHECK(std::holds_alternative<resign>(questions[0].request));
    CHECK(candidate.would_vote(2));
  }
  SECTION("unless another one does") {
    candidate.at(1s);
    candidate.core.lost(1, candidate.now);
    candidate.acknowledge(2);
    candidate.at(2s);
    CHECK(candidate.core.serves());
  }
}

TEST_CASE("vote machine: voters that leave in order support their leader until others could vote",
          "[rendezvous]") {
  stage candidate;
  candidate.lead();
  candidate.at(1s);
  candidate.acknowledge(1);
  candidate.core.lost(2, candidate.now);
  const auto retire_voter = [&](elastic::duration since_then) {
    const std::int64_t stamp = candidate.now.time_since_epoch().count();
    candidate.at(4s);
    candidate.core.received(1, messages::retire{candidate.core.term(), stamp, since_then},
                            candidate.now);
    candidate.core.lost(1, candidate.now);
  };
  SECTION("for 3/4 of the silence from when it left, by a clock that may be faster") {
    retire_voter(3s);
    candidate.at(15100ms);
    CHECK(candidate.core.serves());
    candidate.at(15200ms);
    CHECK_FALSE(candidate.core.serves());
  }
  SECTION("but no time that is still to come is believed") {
    retire_voter(30s);
    candidate.at(4150ms);
    CHECK_FALSE(candidate.core.serves());
  }
  SECTION("and another agent in its place may be lost like any other") {
    retire_voter(3s);
    candidate.at(6s);
    candidate.core.entered(1, 999, candidate.now);
    candidate.core.reached(1, candidate.now);
    // Also if its answer is not here yet: it may be bound already, and be freed by an end.
    const bool has_answered = GENERATE(true, false);
    if (has_answered) candidate.acknowledge(1);
    candidate.at(7s);
    candidate.core.lost(1, candidate.now);
    candidate.at(7150ms);
    CHECK_FALSE(candidate.core.serves());
  }
}

TEST_CASE("vote machine: a voter that has left takes nothing any more", "[rendezvous]") {
  stage candidate;
  candidate.follow();
  candidate.core.retire(false, candidate.now);
  candidate.follow(5, 2);
  CHECK(candidate.core.take_replies().empty());
  CHECK(candidate.core.value().sequence == 1);
}

TEST_CASE("vote machine: a voter that leaves says so to its leader alone", "[rendezvous]") {
  stage candidate;
  SECTION("when it last heard of it") {
    candidate.follow();
    candidate.at(2s);
    candidate.core.take_questions();
    candidate.core.retire(false, candidate.now);
    const auto questions = candidate.core.take_questions();
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].to == 1);
    const auto& word = std::get<messages::retire>(questions[0].request);
    CHECK(word.term == 5);
    CHECK(word.stamp == 3);
    CHECK(word.since_then == 2s);
  }
  SECTION("if there is one") {
    candidate.core.retire(false, candidate.now);
    CHECK(candidate.core.take_questions().empty());
  }
}

TEST_CASE("vote machine: what is not with a majority is not kept", "[rendezvous]") {
  stage candidate;
  candidate.lead();
  CHECK(candidate.core.is_kept());
  round_register next = candidate.core.value();
  next.round = 0;
  next.members = {1, 2};
  CHECK(candidate.core.propose(next, candidate.now));
  CHECK_FALSE(candidate.core.is_kept());
  CHECK_FALSE(candidate.core.propose(next, candidate.now));
  candidate.acknowledge(2);
  CHECK(candidate.core.is_kept());
}

TEST_CASE("vote machine: the newest register of a majority is the one that goes on",
          "[rendezvous]") {
  stage candidate;
  candidate.follow(5, 2);
  candidate.core.received(1, resign{5, false}, candidate.now);
  candidate.ask();
  candidate.answer_try(1, true, false);
  round_register newest;
  newest.term = 5;
  newest.sequence = 9;
  newest.round = 4;
  newest.members = {7, 101, 50};
  newest.leader_node = 101;
  candidate.vote(1, newest);
  candidate.acknowledge(1);
  REQUIRE(candidate.core.serves());
  CHECK(candidate.core.value().round == 4);
  // The leader before is accounted for.
  CHECK(candidate.core.value().members == std::vector<std::uint64_t>{7, 50});
  CHECK(candidate.core.uncertain_until() <= candidate.now);
  CHECK(candidate.core.term() > 5);
}

TEST_CASE(
    "vote machine: a leader's own node does not end with its lease in a round that another made",
    "[rendezvous]") {
  stage candidate;
  candidate.follow(5, 2);
  candidate.core.received(1, resign{5, false}, candidate.now);
  candidate.ask();
  candidate.answer_try(1, true, false);
  round_register newest;
  newest.term = 5;
  newest.sequence = 9;
  newest.round = 4;
  newest.members = {50, 101, 102};
  newest.leader_node = 101;
  candidate.vote(1, newest);
  CHECK(candidate.core.value().leader_node == 0);
  // A leader after this one waits for it.
  CHECK(candidate.core.value().members == std::vector<std::uint64_t>{50, 102});
}

TEST_CASE("vote machine: a doubt outlives the leader that had it", "[rendezvous]") {
  stage candidate;
  round_register doubtful;
  doubtful.term = 5;
  doubtful.sequence = 1;
  doubtful.is_uncertain = true;
  candidate.core.received(1, messages::write{5, 3, doubtful}, candidate.now);
  candidate.core.received(1, resign{5, false}, candidate.now);
  candidate.core.take_replies();
  candidate.ask();
  candidate.answer_try(2, true, false);
  candidate.vote(2, doubtful);
  candidate.acknowledge(2);
  CHECK(candidate.core.uncertain_until() == candidate.now + 15s);
}

TEST_CASE("vote machine: who loses an election says so, and tries again", "[rendezvous]") {
  stage candidate;
  candidate.ask();
  candidate.answer_try(1, false, true);
  candidate.answer_try(2, false, true);
  REQUIRE(candidate.core.role() == vote_role::runs);
  candidate.core.take_questions();
  candidate.refuse(1);
  candidate.refuse(2);
  CHECK(candidate.core.role() == vote_role::follows);
  const auto questions = candidate.core.take_questions();
  REQUIRE(questions.size() == 2);
  CHECK(std::holds_alternative<resign>(questions[0].request));
  candidate.ask();
}

TEST_CASE("vote machine: a voter that is free votes only for terms after all that it knows",
          "[rendezvous]") {
  stage candidate;
  candidate.follow(9);
  candidate.core.observe_term(20, candidate.now);
  candidate.at(16s);
  candidate.core.take_questions();
  const auto votes_for = [&candidate](std::int64_t term) {
    candidate.core.received(2, messages::vote{term, false, false}, candidate.now);
    return candidate.reply<grant>().is_granted;
  };
  CHECK_FALSE(votes_for(9));
  CHECK_FALSE(votes_for(20));
  CHECK(votes_for(21));
}

TEST_CASE("vote machine: a write of an older term is refused, and makes its leader run again",
          "[rendezvous]") {
  stage candidate;
  candidate.follow(9);
  candidate.core.received(2, messages::write{8, 4, {}}, candidate.now);
  const ack refused = candidate.reply<ack>();
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
  leader.core.observe_term(term, leader.now);
  CHECK(leader.core.serves());
  leader.core.observe_term(term + 500, leader.now);
  CHECK_FALSE(leader.core.serves());
  leader.at(1s);
  leader.ask();
  leader.answer_try(1, true, false);
  CHECK(leader.core.term() > term + 500);

  stage follower;
  follower.follow(9);
  follower.core.observe_term(20, follower.now);
  follower.core.received(1, messages::write{9, 4, {}}, follower.now);
  const ack refused = follower.reply<ack>();
  // So the leader hears of it.
  CHECK_FALSE(refused.is_taken);
  CHECK(refused.own_term == 20);
}

TEST_CASE("vote machine: a leader that leaves frees the others, and votes no more",
          "[rendezvous]") {
  stage candidate;
  candidate.lead();
  candidate.core.take_questions();
  candidate.core.retire(true, candidate.now);
  const auto questions = candidate.core.take_questions();
  REQUIRE(questions.size() == 2);
  CHECK(std::get<resign>(questions[0].request).is_done);
  CHECK_FALSE(candidate.would_vote(1));
  CHECK(candidate.core.role() == vote_role::follows);
}

TEST_CASE("vote machine: whatever happens, one candidate leads and knows the newest round",
          "[rendezvous]") {
  const std::uint64_t first = number_from("ELASTIC_SIMULATION_FIRST", 1);
  const std::uint64_t seeds = number_from("ELASTIC_SIMULATION_SEEDS", 300);
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    vote_world world(seed);
    const std::string complaint = world.run();
    rounds += static_cast<std::uint64_t>(world.rounds());
    if (complaint.empty()) continue;
    for (const std::string& line : world.notes()) UNSCOPED_INFO(line);
    FAIL("seed " << seed << ": " << complaint);
  }
  CHECK(rounds > 10 * seeds);
}

}  // namespace vote_machine_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/round_machine.hpp>

#include <elastic/base/detail/random.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace round_machine_tests {

using namespace std::chrono_literals;
using elastic::detail::node_id;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::apply;
using elastic::detail::decide_join;
using elastic::detail::decide_leave;
using elastic::detail::round_action;
using elastic::detail::round_rules;
using elastic::detail::round_state;

const time_point noon{12h};
const time_point never = time_point::max();

node_id node(char name) { return {std::string(1, name), 1, 0}; }

rendezvous_settings sizes(int min, int max) {
  rendezvous_settings settings;
  settings.min_nodes = min;
  settings.max_nodes = max;
  return settings;
}

/// Rounds of these numbers of nodes alone.
rendezvous_settings only(std::vector<int> counts) {
  rendezvous_settings settings = sizes(counts.front(), counts.back());
  settings.node_counts = std::move(counts);
  return settings;
}

/// A state in words: those in the round, then those who wait, then those who stand by.
round_state state_of(const std::string& in, const std::string& waiting = "",
                     const std::string& spare = "") {
  round_state state;
  for (const char name : in) {
    const int rank = static_cast<int>(state.participants.size());
    state.participants[node(name)] = rank;
  }
  for (const char name : waiting) state.wait_list.insert(node(name));
  for (const char name : spare) state.redundancy_list.insert(node(name));
  return state;
}

round_state running(const std::string& in, const std::string& waiting = "",
                    const std::string& spare = "") {
  round_state state = state_of(in, waiting, spare);
  state.complete = true;
  return state;
}

/// Lets a node take every step that it can. Result: the last.
round_action join(round_state& state, char name, const rendezvous_settings& settings,
                  round_rules rules, time_point now = noon, time_point deadline = never) {
  for (;;) {
    const auto decision = decide_join(state, node(name), settings, rules, now, deadline);
    CHECK_FALSE(decision.reason.empty());
    const bool is_last = decision.action == round_action::wait ||
                         decision.action == round_action::placed ||
                         decision.action == round_action::refuse_closed ||
                         decision.action == round_action::refuse_timeout;
    if (is_last) return decision.action;
    apply(state, decision.action, node(name), settings, now);
  }
}

const std::vector<round_rules> all_rules = {round_rules::torch_1_13, round_rules::torch_2_6,
                                            round_rules::direct};

TEST_CASE("round: the most nodes complete it at once, ranks follow the order of nodes",
          "[rendezvous]") {
  for (const round_rules rules : all_rules) {
    round_state state;
    const auto settings = sizes(1, 3);
    CHECK(join(state, 'c', settings, rules) == round_action::wait);
    CHECK(join(state, 'a', settings, rules) == round_action::wait);
    CHECK_FALSE(state.complete);
    CHECK(join(state, 'b', settings, rules) == round_action::placed);
    CHECK(state.complete);
    CHECK_FALSE(state.deadline);
    CHECK(state.participants.at(node('a')) == 0);
    CHECK(state.participants.at(node('b')) == 1);
    CHECK(state.participants.at(node('c')) == 2);
    CHECK(join(state, 'a', settings, rules) == round_action::placed);
  }
}

TEST_CASE("round: enough nodes open the last call, and its end completes the round",
          "[rendezvous]") {
  for (const round_rules rules : all_rules) {
    round_state state;
    const auto settings = sizes(2, 4);
    join(state, 'a', settings, rules);
    CHECK_FALSE(state.deadline);
    join(state, 'b', settings, rules);
    REQUIRE(state.deadline);
    CHECK(*state.deadline == noon + 30s);
    // A further node does not prolong it.
    join(state, 'c', settings, rules, noon + 20s);
    CHECK(*state.deadline == noon + 30s);
    CHECK(join(state, 'a', settings, rules, noon + 29s) == round_action::wait);
    CHECK(join(state, 'a', settings, rules, noon + 30s) == round_action::placed);
    CHECK(join(state, 'c', settings, rules, noon + 30s) == round_action::placed);
  }
}

TEST_CASE("round: too few nodes take the last call back", "[rendezvous]") {
  round_state state;
  const auto settings = sizes(2, 4);
  join(state, 'a', settings, round_rules::direct);
  join(state, 'b', settings, round_rules::direct);
  apply(state, decide_leave(state, node('b')).action, node('b'), settings, noon);
  CHECK_FALSE(state.deadline);
  CHECK(join(state, 'a', settings, round_rules::direct, noon + 60s) == round_action::wait);
}

TEST_CASE("round: a node that comes while it runs waits for the next", "[rendezvous]") {
  for (const round_rules rules : all_rules) {
    round_state state = running("ab");
    CHECK(join(state, 'c', sizes(1, 3), rules) == round_action::wait);
    CHECK(state.wait_list == std::set<node_id>{node('c')});
    CHECK(state.participants.size() == 2);
  }
}

TEST_CASE("round: nodes beyond the most stand by, or ask again under the rules of 1.13",
          "[rendezvous]") {
  const auto settings = sizes(1, 2);
  for (const round_rules rules : {round_rules::torch_2_6, round_rules::direct}) {
    round_state state = running("ab");
    CHECK(join(state, 'c', settings, rules) == round_action::wait);
    CHECK(state.redundancy_list == std::set<node_id>{node('c')});
    // Standing by has no end.
    CHECK(join(state, 'c', settings, rules, noon, noon - 1s) == round_action::wait);
    apply(state, round_action::leave_round, node('a'), settings, noon);
    CHECK(join(state, 'c', settings, rules) == round_action::wait);
    CHECK(state.redundancy_list.empty());
    CHECK(state.wait_list == std::set<node_id>{node('c')});
  }
  round_state state = running("ab");
  CHECK(join(state, 'c', settings, round_rules::torch_1_13) == round_action::wait);
  CHECK(state == running("ab"));
}

TEST_CASE("round: direct rules promise no place twice", "[rendezvous]") {
  const auto settings = sizes(1, 3);
  round_state direct = running("ab");
  join(direct, 'c', settings, round_rules::direct);
  join(direct, 'd', settings, round_rules::direct);
  CHECK(direct == running("ab", "c", "d"));
  round_state torch = running("ab");
  join(torch, 'c', settings, round_rules::torch_2_6);
  join(torch, 'd', settings, round_rules::torch_2_6);
  CHECK(torch == running("ab", "cd"));
}

TEST_CASE("round: the last to leave begins the next round", "[rendezvous]") {
  const auto settings = sizes(1, 4);
  round_state state = running("ab");
  apply(state, round_action::leave_to_rejoin, node('a'), settings, noon);
  CHECK(state.complete);
  CHECK(state.wait_list == std::set<node_id>{node('a')});
  apply(state, round_action::leave_to_rejoin, node('b'), settings, noon);
  CHECK(state.round == 1);
  CHECK_FALSE(state.complete);
  CHECK(state.wait_list.size() == 2);
  CHECK_FALSE(state.unknown_nodes);
}

TEST_CASE("round: direct rules complete a later round when all that are known are there",
          "[rendezvous]") {
  const auto settings = sizes(1, 4);
  round_state state = running("abc");
  apply(state, round_action::leave_round, node('c'), settings, noon);
  apply(state, round_action::leave_to_rejoin, node('a'), settings, noon);
  apply(state, round_action::leave_to_rejoin, node('b'), settings, noon);
  CHECK(join(state, 'a', settings, round_rules::direct) == round_action::wait);
  CHECK(join(state, 'b', settings, round_rules::direct) == round_action::placed);
  CHECK(state.participants.size() == 2);
  CHECK(join(state, 'a', settings, round_rules::direct) == round_action::placed);
}

TEST_CASE("round: torchrun's rules have a last call in later rounds, too", "[rendezvous]") {
  const auto settings = sizes(1, 4);
  round_state state = running("ab");
  apply(state, round_action::leave_to_rejoin, node('a'), settings, noon);
  apply(state, round_action::leave_to_rejoin, node('b'), settings, noon);
  for (const char name : {'a', 'b'}) {
    CHECK(join(state, name, settings, round_rules::torch_2_6) == round_action::wait);
  }
  CHECK(join(state, 'a', settings, round_rules::torch_2_6, noon + 30s) == round_action::placed);
}

TEST_CASE("round: a round that lost all of its nodes has a last call again", "[rendezvous]") {
  const auto settings = sizes(1, 3);
  round_state state = running("ab");
  apply(state, round_action::leave_round, node('a'), settings, noon);
  apply(state, round_action::leave_round, node('b'), settings, noon);
  CHECK(state.round == 1);
  CHECK(state.unknown_nodes);
  CHECK(join(state, 'c', settings, round_rules::direct) == round_action::wait);
  CHECK(state.deadline == noon + 30s);
}

TEST_CASE("round: who waited long enough gives its place up, then is refused", "[rendezvous]") {
  const auto settings = sizes(3, 4);
  for (const round_rules rules : all_rules) {
    round_state state = state_of("ab");
    CHECK(join(state, 'a', settings, rules, noon, noon - 1s) == round_action::refuse_timeout);
    CHECK(state.participants.count(node('a')) == 0);
    round_state waiting = running("ab", "c");
    CHECK(join(waiting, 'c', settings, rules, noon, noon - 1s) == round_action::refuse_timeout);
    CHECK(waiting.wait_list.empty());
  }
}

TEST_CASE("round: who waited long enough stays in the last call, which has its nodes",
          "[rendezvous]") {
  const auto settings = sizes(2, 4);
  round_state state = state_of("ab");
  state.deadline = noon + 10s;
  const auto at = [&](elastic::duration after) {
    return join(state, 'a', settings, round_rules::direct, noon + after, noon - 1s);
  };
  CHECK(at(0s) == round_action::wait);
  CHECK(at(10s) == round_action::placed);

  round_state torch = state_of("ab");
  torch.deadline = noon + 10s;
  CHECK(join(torch, 'a', settings, round_rules::torch_2_6, noon, noon - 1s) ==
        round_action::refuse_timeout);
}

TEST_CASE("round: a closed one refuses everybody", "[rendezvous]") {
  for (const round_rules rules : all_rules) {
    round_state state = running("a", "b", "c");
    state.closed = true;
    for (const char name : {'a', 'b', 'c', 'd'}) {
      CHECK(join(state, name, sizes(1, 4), rules) == round_action::refuse_closed);
    }
  }
}

TEST_CASE("round: a node leaves from wherever it is", "[rendezvous]") {
  const round_state state = running("a", "b", "c");
  CHECK(decide_leave(state, node('a')).action == round_action::leave_round);
  CHECK(decide_leave(state, node('b')).action == round_action::leave_wait_list);
  CHECK(decide_leave(state, node('c')).action == round_action::leave_redundancy_list);
  CHECK(decide_leave(state, node('d')).action == round_action::wait);
}

/// What holds in every state that can be reached.
void check_state(const round_state& state, const rendezvous_settings& settings, round_rules rules) {
  const auto size = static_cast<int>(state.participants.size());
  CHECK(size <= settings.max_nodes);
  if (state.complete) {
    CHECK(size >= 1);
    CHECK_FALSE(state.deadline);
  }
  for (const auto& [who, rank] : state.participants) {
    CHECK(state.wait_list.count(who) + state.redundancy_list.count(who) == 0);
  }
  for (const node_id& who : state.wait_list) CHECK(state.redundancy_list.count(who) == 0);
  if (rules == round_rules::direct) {
    CHECK(size + static_cast<int>(state.wait_list.size()) <= settings.max_nodes);
  }
}

TEST_CASE("round: of several numbers of nodes it has the largest that it can", "[rendezvous]") {
  struct row {
    std::string nodes;
    std::string in;
    std::string spare;
  };
  for (const row& entry : {row{"ab", "ab", ""}, row{"abc", "ab", "c"}, row{"abcd", "abcd", ""},
                           row{"abcde", "abcd", "e"}, row{"abcdefg", "abcd", "efg"},
                           row{"abcdefgh", "abcdefgh", ""}, row{"abcdefghi", "abcdefgh", "i"}}) {
    INFO(entry.nodes);
    const auto settings = only({2, 4, 8});
    round_state state;
    for (const char name : entry.nodes) join(state, name, settings, round_rules::direct);
    // The last call is over.
    join(state, 'a', settings, round_rules::direct, noon + 60s);
    CHECK(state.complete);
    CHECK(state == running(entry.in, "", entry.spare));
  }
  round_state lonely;
  CHECK(join(lonely, 'a', only({2, 4}), round_rules::direct, noon + 60s) == round_action::wait);
  CHECK_FALSE(lonely.complete);
}

TEST_CASE("round: it ends for those that make a larger one possible, not for others",
          "[rendezvous]") {
  struct row {
    round_state state;
    std::string comes;
    round_state after;
  };
  const std::vector<row> rows = {
      {running("ab"), "c", running("ab", "", "c")},
      {running("ab"), "cd", running("ab", "d", "c")},
      {running("ab", "", "c"), "c", running("ab", "", "c")},
      {running("ab", "", "c"), "dc", running("ab", "cd")},
      {running("abcd"), "efg", running("abcd", "", "efg")},
      {running("abcd", "", "efg"), "h", running("abcd", "h", "efg")},
      // It ends anyway: whoever has a place takes it.
      {running("ab", "x"), "c", running("ab", "cx")},
      // One of four is lost.
      {running("abc"), "e", running("abc", "e")},
      {running("abcdefgh"), "i", running("abcdefgh", "", "i")},
  };
  for (const row& entry : rows) {
    INFO(entry.comes);
    round_state state = entry.state;
    for (const char name : entry.comes) {
      CHECK(join(state, name, only({2, 4, 8}), round_rules::direct) == round_action::wait);
    }
    state.scale_up_at.reset();
    CHECK(state == entry.after);
  }
}

TEST_CASE("round: the next round takes in those that stood by", "[rendezvous]") {
  const auto settings = only({2, 4});
  round_state state = running("ab", "d", "c");
  for (const char name : std::string("ab")) {
    apply(state, round_action::leave_to_rejoin, node(name), settings, noon);
  }
  for (const char name : std::string("abcd")) join(state, name, settings, round_rules::direct);
  CHECK(state.participants.size() == 4);
  CHECK(state.complete);
  CHECK(state.round == 1);
}

TEST_CASE("round: a running one ends for more nodes after the delay", "[rendezvous]") {
  auto settings = sizes(1, 4);
  settings.scale_up_delay = 60s;
  round_state state = running("a");
  CHECK(join(state, 'b', settings, round_rules::direct, noon) == round_action::wait);
  CHECK(state.redundancy_list == std::set<node_id>{node('b')});
  CHECK(state.scale_up_at == noon + 60s);
  // A second one does not put it off.
  join(state, 'c', settings, round_rules::direct, noon + 30s);
  CHECK(state.scale_up_at == noon + 60s);
  join(state, 'b', settings, round_rules::direct, noon + 60s - 1ns);
  CHECK(state.wait_list.empty());
  join(state, 'b', settings, round_rules::direct, noon + 60s);
  CHECK(state.wait_list == std::set<node_id>{node('b')});
  join(state, 'c', settings, round_rules::direct, noon + 60s);
  CHECK(state.wait_list == std::set<node_id>{node('b'), node('c')});
  CHECK(state.redundancy_list.empty());
  // A round that ends by itself takes them in at once.
  state = running("a");
  join(state, 'b', settings, round_rules::direct, noon);
  apply(state, round_action::leave_to_rejoin, node('a'), settings, noon + 1s);
  CHECK(join(state, 'b', settings, round_rules::direct, noon + 1s) == round_action::wait);
  join(state, 'a', settings, round_rules::direct, noon + 1s);
  CHECK(state.complete);
  CHECK(state.participants.size() == 2);
  CHECK_FALSE(state.scale_up_at);
}

TEST_CASE("round: the delay begins when a larger round has become possible", "[rendezvous]") {
  auto settings = only({2, 4});
  settings.scale_up_delay = 60s;
  round_state state = running("ab");
  join(state, 'c', settings, round_rules::direct, noon);
  CHECK_FALSE(state.scale_up_at);
  join(state, 'd', settings, round_rules::direct, noon + 10s);
  CHECK(state.scale_up_at == noon + 70s);
  // One of them goes, another comes later.
  apply(state, round_action::leave_redundancy_list, node('c'), settings, noon + 20s);
  join(state, 'd', settings, round_rules::direct, noon + 100s);
  CHECK(state.wait_list.empty());
  join(state, 'e', settings, round_rules::direct, noon + 100s);
  CHECK(state.scale_up_at == noon + 160s);
  CHECK(state.wait_list.empty());
  join(state, 'e', settings, round_rules::direct, noon + 160s);
  CHECK(state.wait_list == std::set<node_id>{node('e')});
}

TEST_CASE("round: whatever nodes do, in whatever order, no place is taken twice", "[rendezvous]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    elastic::detail::random_source random(seed);
    const round_rules rules = all_rules[random.below(all_rules.size())];
    const int max = 1 + static_cast<int>(random.below(4));
    auto settings = sizes(1 + static_cast<int>(random.below(max)), max);
    const bool is_chosen = rules == round_rules::direct && random.below(2) == 0;
    if (is_chosen && settings.min_nodes + 1 < max) settings = only({settings.min_nodes, max});
    if (rules == round_rules::direct) settings.scale_up_delay = random.below(2) * 30s;
    round_state state;
    time_point now = noon;
    CAPTURE(seed);
    for (int step = 0; step < 200; ++step) {
      const char name = static_cast<char>('a' + random.below(6));
      const auto round = state.round;
      const bool was_complete = state.complete;
      now += std::chrono::seconds(random.below(20));
      const bool is_in = state.complete && state.participants.count(node(name)) != 0;
      switch (random.below(3)) {
        case 0: join(state, name, settings, rules, now, now + 5s); break;
        case 1:
          apply(state, decide_leave(state, node(name)).action, node(name), settings, now);
          break;
        default:
          if (is_in) apply(state, round_action::leave_to_rejoin, node(name), settings, now);
      }
      check_state(state, settings, rules);
      const bool next_began = state.round == round + 1 && was_complete;
      CHECK((state.round == round || next_began));
      if (state.complete && !was_complete) {
        const int size = static_cast<int>(state.participants.size());
        CHECK(size >= settings.min_nodes);
        CHECK(settings.most_of(size) == size);
      }
    }
  }
}

}  // namespace round_machine_tests

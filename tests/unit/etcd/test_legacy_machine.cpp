// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd/detail/legacy_machine.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace legacy_machine_tests {

using namespace std::chrono_literals;
using elastic::time_point;
using elastic::detail::legacy_action;
using elastic::detail::legacy_decision;
using elastic::detail::legacy_standing;
using elastic::detail::legacy_state;
using elastic::detail::legacy_status;

constexpr time_point now{1h};
constexpr time_point deadline = now + 600s;

elastic::rendezvous_settings test_settings() {
  elastic::rendezvous_settings settings;
  settings.min_nodes = 2;
  settings.max_nodes = 4;
  return settings;
}

legacy_decision decide(const std::optional<legacy_state>& state, const legacy_standing& standing,
                       const std::set<std::string>& living_nodes = {}, time_point instant = now) {
  return decide_legacy(state, standing, test_settings(), living_nodes, instant, deadline);
}

legacy_state state_with(legacy_status status, int participants) {
  legacy_state state;
  state.status = status;
  state.version = "7";
  state.participants = participants;
  return state;
}

legacy_state complete_state(int participants, int waiting_nodes = 0) {
  legacy_state state = state_with(legacy_status::complete, participants);
  for (int rank = 0; rank < participants; ++rank) {
    state.keep_alives.push_back("/p/v_7/" + elastic::detail::legacy_lease_name(rank));
  }
  state.waiting = waiting_nodes;
  return state;
}

legacy_standing standing_of(int rank) {
  legacy_standing standing;
  standing.version = "7";
  standing.rank = rank;
  return standing;
}

TEST_CASE("legacy machine: who is in no version makes one, or joins", "[rendezvous]") {
  const legacy_standing standing;
  CHECK(decide(std::nullopt, standing).action == legacy_action::create);
  CHECK(decide(legacy_state(), standing).action == legacy_action::wait);
  CHECK(decide(state_with(legacy_status::joinable, 0), standing).action == legacy_action::join);
  CHECK(decide(state_with(legacy_status::joinable, 3), standing).action == legacy_action::join);
  CHECK(decide(state_with(legacy_status::joinable, 4), standing).action == legacy_action::wait);
  CHECK(decide(state_with(legacy_status::frozen, 2), standing).action == legacy_action::wait);
  CHECK(decide(state_with(legacy_status::closed, 0), standing).action ==
        legacy_action::refuse_closed);
}

TEST_CASE("legacy machine: who made the nodes enough waits out the last call", "[rendezvous]") {
  legacy_standing standing = standing_of(1);
  standing.call_end = now + 30s;
  standing.next_refresh = now + 5s;
  const legacy_state state = state_with(legacy_status::joinable, 2);
  const legacy_decision decision = decide(state, standing);
  CHECK(decision.action == legacy_action::wait);
  CHECK(decision.until == now + 5s);
  CHECK(decide(state, standing, {}, now + 5s).action == legacy_action::refresh_call);
  standing.next_refresh = now + 35s;
  CHECK(decide(state, standing).until == now + 30s);
  CHECK(decide(state, standing, {}, now + 30s).action == legacy_action::freeze);
  // The others wait for that.
  CHECK(decide(state, standing_of(0), {}, now + 60s).action == legacy_action::wait);
}

TEST_CASE("legacy machine: all who joined confirm, and then are placed", "[rendezvous]") {
  const legacy_standing standing = standing_of(1);
  legacy_state state = state_with(legacy_status::frozen, 2);
  CHECK(decide(state, standing).action == legacy_action::confirm);
  state.keep_alives = {"/p/v_7/rank_1"};
  CHECK(decide(state, standing).action == legacy_action::wait);
  CHECK(decide(complete_state(2), standing).action == legacy_action::placed);
  // Also if that was at the last moment.
  CHECK(decide(complete_state(2), standing, {}, deadline + 1s).action == legacy_action::placed);
}

TEST_CASE("legacy machine: a version that ended on its way is given up", "[rendezvous]") {
  const legacy_standing standing = standing_of(1);
  CHECK(decide(std::nullopt, standing).action == legacy_action::forget);
  legacy_state later_state = state_with(legacy_status::joinable, 2);
  later_state.version = "8";
  CHECK(decide(later_state, standing).action == legacy_action::forget);
  legacy_state partial_state = complete_state(2);
  partial_state.keep_alives.pop_back();
  CHECK(decide(partial_state, standing).action == legacy_action::forget);
  CHECK(decide(state_with(legacy_status::joinable, 1), standing).action == legacy_action::forget);
}

TEST_CASE("legacy machine: who comes late counts itself, and waits until nodes leave",
          "[rendezvous]") {
  legacy_standing standing;
  CHECK(decide(complete_state(2), standing, {"rank_0", "rank_1"}).action ==
        legacy_action::announce);
  standing.waits_for = "7";
  standing.waits_since = now;
  const legacy_decision decision = decide(complete_state(2, 1), standing, {"rank_0", "rank_1"});
  CHECK(decision.action == legacy_action::wait);
  CHECK(decision.until == deadline + 1ms);
  // A version of before is not the one.
  standing.waits_for = "6";
  CHECK(decide(complete_state(2), standing, {"rank_0", "rank_1"}).action ==
        legacy_action::announce);
}

TEST_CASE("legacy machine: nobody is stopped for one that there is no place for", "[rendezvous]") {
  const legacy_standing standing;
  const std::set<std::string> all_ranks = {"rank_0", "rank_1", "rank_2", "rank_3"};
  CHECK(decide(complete_state(4), standing, all_ranks).action == legacy_action::wait);
  CHECK(decide(complete_state(4), standing, {"rank_0", "rank_1", "rank_2"}).action ==
        legacy_action::announce);
  // Who had a place there waits for the next.
  legacy_standing former_standing;
  former_standing.former_version = "7";
  former_standing.former_rank = 2;
  CHECK(decide(complete_state(4), former_standing, all_ranks).action == legacy_action::announce);
}

TEST_CASE("legacy machine: a version without one of its nodes is ended when the others know",
          "[rendezvous]") {
  legacy_standing standing;
  standing.waits_for = "7";
  standing.waits_since = now;
  const std::set<std::string> remaining_ranks = {"rank_0"};
  const legacy_decision decision = decide(complete_state(2, 1), standing, remaining_ranks);
  CHECK(decision.action == legacy_action::wait);
  CHECK(decision.until == now + 10s);
  CHECK(decide(complete_state(2, 1), standing, remaining_ranks, now + 10s).action ==
        legacy_action::destroy);
  CHECK(decide(complete_state(2, 2), standing, remaining_ranks).action == legacy_action::destroy);
  // Who waited before is not one who has come since.
  standing.waiting_before = 1;
  CHECK(decide(complete_state(2, 2), standing, remaining_ranks).action == legacy_action::wait);
  CHECK(decide(complete_state(2, 3), standing, remaining_ranks).action == legacy_action::destroy);
  // There is nobody who could know.
  CHECK(decide(complete_state(2, 2), standing, {}).action == legacy_action::destroy);
}

TEST_CASE("legacy machine: who has left a version ends it when the others wait as well",
          "[rendezvous]") {
  legacy_standing standing;
  standing.former_version = "7";
  standing.former_rank = 1;
  CHECK(decide(complete_state(2), standing, {"rank_0", "rank_1"}).action ==
        legacy_action::announce);
  standing.waits_for = "7";
  standing.waits_since = now;
  const std::set<std::string> all_ranks = {"rank_0", "rank_1"};
  CHECK(decide(complete_state(2, 1), standing, all_ranks).action == legacy_action::wait);
  CHECK(decide(complete_state(2, 2), standing, all_ranks).action == legacy_action::destroy);
  CHECK(decide(complete_state(2, 1), standing, all_ranks, now + 10s).action ==
        legacy_action::destroy);
}

TEST_CASE("legacy machine: after the join timeout it gives up", "[rendezvous]") {
  const time_point expiry = deadline + 1ms;
  CHECK(decide(state_with(legacy_status::joinable, 1), {}, {}, expiry).action ==
        legacy_action::refuse_timeout);
  CHECK(decide(state_with(legacy_status::joinable, 1), standing_of(0), {}, expiry).action ==
        legacy_action::refuse_timeout);
  CHECK(decide(state_with(legacy_status::joinable, 1), standing_of(0), {}, deadline).until ==
        expiry);
}

}  // namespace legacy_machine_tests

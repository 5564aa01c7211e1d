// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/etcd/detail/legacy_machine.hpp>

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

elastic::rendezvous_settings two_to_four() {
  elastic::rendezvous_settings settings;
  settings.min_nodes = 2;
  settings.max_nodes = 4;
  return settings;
}

legacy_decision decide(const std::optional<legacy_state>& state, const legacy_standing& me,
                       const std::set<std::string>& living = {}, time_point at = now) {
  return decide_legacy(state, me, two_to_four(), living, at, deadline);
}

legacy_state with(legacy_status status, int participants) {
  legacy_state state;
  state.status = status;
  state.version = "7";
  state.participants = participants;
  return state;
}

legacy_state complete(int participants, int waiting = 0) {
  legacy_state state = with(legacy_status::complete, participants);
  for (int rank = 0; rank < participants; ++rank) {
    state.keep_alives.push_back("/p/v_7/" + elastic::detail::legacy_lease_name(rank));
  }
  state.waiting = waiting;
  return state;
}

legacy_standing joined_as(int rank) {
  legacy_standing me;
  me.version = "7";
  me.rank = rank;
  return me;
}

TEST_CASE("legacy machine: who is in no version makes one, or joins", "[rendezvous]") {
  const legacy_standing me;
  CHECK(decide(std::nullopt, me).action == legacy_action::create);
  CHECK(decide(legacy_state(), me).action == legacy_action::wait);
  CHECK(decide(with(legacy_status::joinable, 0), me).action == legacy_action::join);
  CHECK(decide(with(legacy_status::joinable, 3), me).action == legacy_action::join);
  CHECK(decide(with(legacy_status::joinable, 4), me).action == legacy_action::wait);
  CHECK(decide(with(legacy_status::frozen, 2), me).action == legacy_action::wait);
  CHECK(decide(with(legacy_status::closed, 0), me).action == legacy_action::refuse_closed);
}

TEST_CASE("legacy machine: who made the nodes enough waits out the last call", "[rendezvous]") {
  legacy_standing me = joined_as(1);
  me.call_end = now + 30s;
  me.next_prolonging = now + 5s;
  const legacy_state state = with(legacy_status::joinable, 2);
  const legacy_decision waits = decide(state, me);
  CHECK(waits.action == legacy_action::wait);
  CHECK(waits.until == now + 5s);
  CHECK(decide(state, me, {}, now + 5s).action == legacy_action::prolong_call);
  me.next_prolonging = now + 35s;
  CHECK(decide(state, me).until == now + 30s);
  CHECK(decide(state, me, {}, now + 30s).action == legacy_action::freeze);
  // The others wait for that.
  CHECK(decide(state, joined_as(0), {}, now + 60s).action == legacy_action::wait);
}

TEST_CASE("legacy machine: all who joined confirm, and then are placed", "[rendezvous]") {
  const legacy_standing me = joined_as(1);
  legacy_state state = with(legacy_status::frozen, 2);
  CHECK(decide(state, me).action == legacy_action::confirm);
  state.keep_alives = {"/p/v_7/rank_1"};
  CHECK(decide(state, me).action == legacy_action::wait);
  CHECK(decide(complete(2), me).action == legacy_action::placed);
  // Also where that was at the last moment.
  CHECK(decide(complete(2), me, {}, deadline + 1s).action == legacy_action::placed);
}

TEST_CASE("legacy machine: a version that ended on its way is given up", "[rendezvous]") {
  const legacy_standing me = joined_as(1);
  CHECK(decide(std::nullopt, me).action == legacy_action::forget);
  legacy_state other = with(legacy_status::joinable, 2);
  other.version = "8";
  CHECK(decide(other, me).action == legacy_action::forget);
  legacy_state without = complete(2);
  without.keep_alives.pop_back();
  CHECK(decide(without, me).action == legacy_action::forget);
  CHECK(decide(with(legacy_status::joinable, 1), me).action == legacy_action::forget);
}

TEST_CASE("legacy machine: who comes late counts itself, and waits until nodes leave",
          "[rendezvous]") {
  legacy_standing me;
  CHECK(decide(complete(2), me, {"rank_0", "rank_1"}).action == legacy_action::announce);
  me.waits_for = "7";
  me.waits_since = now;
  const legacy_decision waits = decide(complete(2, 1), me, {"rank_0", "rank_1"});
  CHECK(waits.action == legacy_action::wait);
  CHECK(waits.until == deadline + 1ms);
  // A version of before is not the one.
  me.waits_for = "6";
  CHECK(decide(complete(2), me, {"rank_0", "rank_1"}).action == legacy_action::announce);
}

TEST_CASE("legacy machine: nobody is stopped for one that there is no place for", "[rendezvous]") {
  const legacy_standing me;
  const std::set<std::string> all = {"rank_0", "rank_1", "rank_2", "rank_3"};
  CHECK(decide(complete(4), me, all).action == legacy_action::wait);
  CHECK(decide(complete(4), me, {"rank_0", "rank_1", "rank_2"}).action == legacy_action::announce);
  // Who had a place there waits for the next.
  legacy_standing before;
  before.former_version = "7";
  before.former_rank = 2;
  CHECK(decide(complete(4), before, all).action == legacy_action::announce);
}

TEST_CASE("legacy machine: a version without one of its nodes is ended when the others know",
          "[rendezvous]") {
  legacy_standing me;
  me.waits_for = "7";
  me.waits_since = now;
  const std::set<std::string> one_left = {"rank_0"};
  const legacy_decision waits = decide(complete(2, 1), me, one_left);
  CHECK(waits.action == legacy_action::wait);
  CHECK(waits.until == now + 10s);
  CHECK(decide(complete(2, 1), me, one_left, now + 10s).action == legacy_action::destroy);
  CHECK(decide(complete(2, 2), me, one_left).action == legacy_action::destroy);
  // Who waited before is not one who has come since.
  me.waiting_before = 1;
  CHECK(decide(complete(2, 2), me, one_left).action == legacy_action::wait);
  CHECK(decide(complete(2, 3), me, one_left).action == legacy_action::destroy);
  // There is nobody who could know.
  CHECK(decide(complete(2, 2), me, {}).action == legacy_action::destroy);
}

TEST_CASE("legacy machine: who has left a version ends it when the others wait as well",
          "[rendezvous]") {
  legacy_standing me;
  me.former_version = "7";
  me.former_rank = 1;
  CHECK(decide(complete(2), me, {"rank_0", "rank_1"}).action == legacy_action::announce);
  me.waits_for = "7";
  me.waits_since = now;
  const std::set<std::string> all = {"rank_0", "rank_1"};
  CHECK(decide(complete(2, 1), me, all).action == legacy_action::wait);
  CHECK(decide(complete(2, 2), me, all).action == legacy_action::destroy);
  CHECK(decide(complete(2, 1), me, all, now + 10s).action == legacy_action::destroy);
}

TEST_CASE("legacy machine: after the join timeout it gives up", "[rendezvous]") {
  const time_point late = deadline + 1ms;
  CHECK(decide(with(legacy_status::joinable, 1), {}, {}, late).action ==
        legacy_action::refuse_timeout);
  CHECK(decide(with(legacy_status::joinable, 1), joined_as(0), {}, late).action ==
        legacy_action::refuse_timeout);
  CHECK(decide(with(legacy_status::joinable, 1), joined_as(0), {}, deadline).until == late);
}

}  // namespace legacy_machine_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/previous_membership.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace previous_membership_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::previous_membership;
using elastic::detail::rendezvous_messages::former_round;

constexpr time_point begin{12h};
constexpr duration silence = 15s;

former_round round_of(std::int64_t term, std::int64_t round, int rank, int world, int host_rank) {
  former_round former;
  former.term = term;
  former.round = round;
  former.rank = rank;
  former.world = world;
  former.host_rank = host_rank;
  former.until_end = true;
  former.server = "10.0.0.1";
  return former;
}

TEST_CASE("former world: who has lost none holds up nobody", "[rendezvous]") {
  const previous_membership world;
  CHECK_FALSE(world.is_known());
  CHECK(world.is_over(begin));
  CHECK(world.over_at() == time_point::max());
}

TEST_CASE("former world: over when each of its nodes is accounted for, or can be silent no longer",
          "[rendezvous]") {
  struct story {
    std::string name;
    std::vector<former_round> reports;
    std::vector<former_round> joined_rounds;
    bool has_host;
    bool is_over;
  };
  const former_round rank_0 = round_of(5, 7, 0, 3, 1);
  const former_round rank_2 = round_of(5, 7, 2, 3, 1);
  former_round rank_0_left = rank_0;
  rank_0_left.until_end = false;
  former_round rank_0_elsewhere = rank_0;
  rank_0_elsewhere.server = "10.0.0.2";
  const former_round older_round = round_of(5, 6, 2, 3, 1);
  const former_round newer_round = round_of(6, 1, 0, 2, 1);
  const former_round spare_host = round_of(5, 7, 0, 1, -1);
  former_round rank_2_left = rank_2;
  rank_2_left.until_end = false;
  const std::vector<story> stories = {
      {"all are back", {rank_0, rank_2}, {rank_0, rank_2}, true, true},
      {"one has not joined", {rank_0, rank_2}, {rank_0}, true, false},
      {"one was not heard of", {rank_0}, {rank_0}, true, false},
      {"the host's node is still to come", {rank_0, rank_2}, {rank_0, rank_2}, false, false},
      {"one of them had left the round", {rank_0_left, rank_2}, {rank_0_left, rank_2}, true, true},
      {"each had left, a round may have followed",
       {rank_0_left, rank_2_left},
       {rank_0_left, rank_2},
       true,
       false},
      {"the host was elsewhere",
       {rank_0_elsewhere, rank_2},
       {rank_0_elsewhere, rank_2},
       true,
       false},
      {"the last of them was in the round before",
       {rank_0, older_round},
       {rank_0, older_round},
       true,
       false},
      {"a later server's round counts",
       {rank_0, rank_2, newer_round},
       {rank_0, rank_2, newer_round},
       true,
       true},
      {"in whichever order",
       {newer_round, rank_0, rank_2},
       {newer_round, rank_0, rank_2},
       true,
       true},
      {"a later server's round has another node",
       {rank_0, rank_2, newer_round},
       {rank_0, rank_2},
       true,
       false},
      {"the host took no part", {spare_host}, {spare_host}, false, true},
  };
  for (const story& entry : stories) {
    INFO(entry.name);
    previous_membership world;
    for (const former_round& round : entry.reports) {
      world.reported(round, "10.0.0.1", silence, begin);
    }
    for (const former_round& round : entry.joined_rounds) world.joined(round);
    if (entry.has_host) world.host_joined();
    CHECK(world.is_known());
    CHECK(world.is_over(begin) == entry.is_over);
    CHECK_FALSE(world.is_over(begin + silence - 1ns) != entry.is_over);
    CHECK(world.is_over(begin + silence));
    CHECK(world.over_at() == begin + silence);
  }
}

TEST_CASE("former world: a node that stood by knows that there may have been a round",
          "[rendezvous]") {
  previous_membership standby_world;
  standby_world.reported_server(5, silence, begin);
  CHECK(standby_world.is_known());
  CHECK_FALSE(standby_world.is_over(begin + silence - 1ns));
  CHECK(standby_world.is_over(begin + silence));

  // Those of the round are there, too; unless it was that of a server before.
  for (const std::int64_t term : {5, 6}) {
    previous_membership world;
    world.reported_server(term, silence, begin);
    const former_round round = round_of(5, 7, 0, 1, -1);
    world.reported(round, "10.0.0.1", silence, begin);
    world.joined(round);
    CHECK(world.is_over(begin) == (term == 5));
  }
}

TEST_CASE("former world: counts from the first word of it", "[rendezvous]") {
  previous_membership world;
  world.reported(round_of(5, 7, 0, 3, 1), "10.0.0.1", silence, begin);
  world.reported(round_of(5, 8, 0, 3, 1), "10.0.0.1", silence, begin + 10s);
  world.host_joined();
  CHECK_FALSE(world.is_over(begin + silence - 1ns));
  CHECK(world.is_over(begin + silence));
}

}  // namespace previous_membership_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/native/detail/former_world.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace former_world_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::former_world;
using elastic::rendezvous_messages::former_round;

constexpr time_point begin{12h};
constexpr duration silence = 15s;

former_round place(std::int64_t term, std::int64_t round, int rank, int world, int host_rank) {
  former_round told;
  told.term = term;
  told.round = round;
  told.rank = rank;
  told.world = world;
  told.host_rank = host_rank;
  told.until_end = true;
  told.server = "10.0.0.1";
  return told;
}

TEST_CASE("former world: who has lost none holds up nobody", "[rendezvous]") {
  const former_world none;
  CHECK_FALSE(none.is_known());
  CHECK(none.is_over(begin));
  CHECK(none.over_at() == time_point::max());
}

TEST_CASE("former world: over when each of its nodes is accounted for, or can be silent no longer",
          "[rendezvous]") {
  struct story {
    std::string name;
    std::vector<former_round> told;
    std::vector<former_round> joined;
    bool has_host;
    bool is_over;
  };
  const former_round zero = place(5, 7, 0, 3, 1);
  const former_round two = place(5, 7, 2, 3, 1);
  former_round left = zero;
  left.until_end = false;
  former_round elsewhere = zero;
  elsewhere.server = "10.0.0.2";
  const former_round older = place(5, 6, 2, 3, 1);
  const former_round newer_term = place(6, 1, 0, 2, 1);
  const former_round spare_host = place(5, 7, 0, 1, -1);
  former_round left_too = two;
  left_too.until_end = false;
  const std::vector<story> stories = {
      {"all are back", {zero, two}, {zero, two}, true, true},
      {"one has not joined", {zero, two}, {zero}, true, false},
      {"one was not heard of", {zero}, {zero}, true, false},
      {"the host's node is still to come", {zero, two}, {zero, two}, false, false},
      {"one of them had left the round", {left, two}, {left, two}, true, true},
      {"each had left, a round may have followed", {left, left_too}, {left, two}, true, false},
      {"the host was elsewhere", {elsewhere, two}, {elsewhere, two}, true, false},
      {"the last of them was in the round before", {zero, older}, {zero, older}, true, false},
      {"a later server's round counts",
       {zero, two, newer_term},
       {zero, two, newer_term},
       true,
       true},
      {"in whichever order", {newer_term, zero, two}, {newer_term, zero, two}, true, true},
      {"a later server's round has another node",
       {zero, two, newer_term},
       {zero, two},
       true,
       false},
      {"the host took no part", {spare_host}, {spare_host}, false, true},
  };
  for (const story& told : stories) {
    INFO(told.name);
    former_world world;
    for (const former_round& at : told.told) world.told(at, "10.0.0.1", silence, begin);
    for (const former_round& at : told.joined) world.joined(at);
    if (told.has_host) world.host_joined();
    CHECK(world.is_known());
    CHECK(world.is_over(begin) == told.is_over);
    CHECK_FALSE(world.is_over(begin + silence - 1ns) != told.is_over);
    CHECK(world.is_over(begin + silence));
    CHECK(world.over_at() == begin + silence);
  }
}

TEST_CASE("former world: a node that stood by knows that there may have been a round",
          "[rendezvous]") {
  former_world alone;
  alone.told_server(5, silence, begin);
  CHECK(alone.is_known());
  CHECK_FALSE(alone.is_over(begin + silence - 1ns));
  CHECK(alone.is_over(begin + silence));

  // Those of the round are there, too; unless it was that of a server before.
  for (const std::int64_t term : {5, 6}) {
    former_world both;
    both.told_server(term, silence, begin);
    const former_round only = place(5, 7, 0, 1, -1);
    both.told(only, "10.0.0.1", silence, begin);
    both.joined(only);
    CHECK(both.is_over(begin) == (term == 5));
  }
}

TEST_CASE("former world: counts from the first word of it, and never ends early for a bare round",
          "[rendezvous]") {
  former_world world;
  world.told_round(7, silence, begin);
  world.told_round(8, silence, begin + 10s);
  world.host_joined();
  CHECK_FALSE(world.is_over(begin + silence - 1ns));
  CHECK(world.is_over(begin + silence));
}

}  // namespace former_world_tests

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/detail/torch_state_clock.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace torch_state_clock_tests {

using namespace std::chrono_literals;
using elastic::detail::node_id;
using elastic::time_point;
using elastic::detail::torch_state;
using elastic::detail::torch_state_clock;
using elastic::detail::torch_time;

const node_id a{"a", 1, 0};
const node_id b{"b", 2, 0};
const torch_time some_time{std::chrono::hours(500'000)};

time_point at(std::chrono::seconds since) { return time_point(since); }

torch_state heard(std::vector<std::pair<node_id, torch_time>> heartbeats) {
  torch_state state;
  state.last_heartbeats = {heartbeats.begin(), heartbeats.end()};
  return state;
}

using nodes = std::vector<node_id>;

TEST_CASE("torch state clock: a node is dead when its heartbeat did not change for too long",
          "[rendezvous]") {
  torch_state_clock clock;
  CHECK(clock.dead(15s).empty());
  struct step {
    std::chrono::seconds when;
    torch_time of_a;
    torch_time of_b;
    nodes dead;
  };
  const step steps[] = {
      {100s, some_time, some_time, {}},
      {110s, some_time + 1us, some_time, {}},
      {115s, some_time + 1us, some_time, {}},  // 15 s are allowed
      {116s, some_time + 1us, some_time, {b}},
      {126s, some_time + 1us, some_time, {a, b}},
      {127s, some_time + 1us, some_time - 1h, {a}},  // changed, be it backwards
      {142s, some_time + 1us, some_time - 1h, {a}},
      {143s, some_time + 2us, some_time - 1h, {b}},
  };
  for (const step& each : steps) {
    CAPTURE(each.when.count());
    clock.observe(heard({{a, each.of_a}, {b, each.of_b}}), at(each.when));
    CHECK(clock.dead(15s) == each.dead);
  }
}

TEST_CASE("torch state clock: how wrong the clock of a node is does not matter", "[rendezvous]") {
  torch_state_clock clock;
  const torch_time past = some_time - std::chrono::hours(200'000);
  const torch_time future = some_time + std::chrono::hours(200'000);
  for (int second = 0; second <= 60; second += 5) {
    const torch_time stopped = future;
    clock.observe(heard({{a, past + std::chrono::seconds(second)}, {b, stopped}}),
                  at(std::chrono::seconds(second)));
    CHECK(clock.dead(15s) == (second > 15 ? nodes{b} : nodes{}));
  }
}

TEST_CASE("torch state clock: a node is not lost because the state was not read", "[rendezvous]") {
  torch_state_clock clock;
  clock.observe(heard({{a, some_time}, {b, some_time}}), at(0s));
  CHECK(clock.dead(15s).empty());
  // An hour later one of them has gone on.
  clock.observe(heard({{a, some_time + 1h}, {b, some_time}}), at(3600s));
  CHECK(clock.dead(15s) == nodes{b});
}

TEST_CASE("torch state clock: a node that comes again is new", "[rendezvous]") {
  torch_state_clock clock;
  clock.observe(heard({{a, some_time}}), at(0s));
  clock.observe(heard({}), at(100s));
  CHECK(clock.dead(15s).empty());
  clock.observe(heard({{a, some_time}}), at(200s));
  CHECK(clock.dead(15s).empty());
  clock.observe(heard({{a, some_time}}), at(216s));
  CHECK(clock.dead(15s) == nodes{a});
}

TEST_CASE("torch state clock: the deadline counts from when its value was first seen",
          "[rendezvous]") {
  struct step {
    std::chrono::seconds when;
    std::optional<torch_time> deadline;
    std::optional<time_point> seen;
  };
  const step steps[] = {
      {10s, std::nullopt, std::nullopt}, {11s, some_time, at(11s)},
      {30s, some_time, at(11s)},         {31s, some_time + 1us, at(31s)},
      {40s, std::nullopt, std::nullopt}, {41s, some_time + 1us, at(41s)},
  };
  torch_state_clock clock;
  CHECK(clock.deadline_seen() == std::nullopt);
  for (const step& each : steps) {
    torch_state state;
    state.deadline = each.deadline;
    clock.observe(state, at(each.when));
    CHECK((clock.deadline_seen() == each.seen));
  }
}

}  // namespace torch_state_clock_tests

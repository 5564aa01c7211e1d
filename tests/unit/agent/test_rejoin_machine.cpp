// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/rounds/rejoin_machine.hpp>

#include <elastic/base/detail/random.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rejoin_machine_tests {

using namespace std::chrono_literals;
using elastic::detail::ask_answer;
using elastic::detail::decide_ask;
using elastic::detail::decide_rejoin;
using elastic::detail::epoch_end;
using elastic::detail::epoch_plan;
using elastic::detail::keep_places;
using elastic::detail::node_epoch;
using elastic::detail::obstacle_to;
using elastic::detail::plan_epoch;
using elastic::detail::rejoin_deadline;
using elastic::detail::rejoin_step;
using elastic::detail::survivor_facts;
using action = rejoin_step::action;

/// A worker in letters: s said survive, c has a channel, r is ready, f has finished, x has ended, o
/// has had its time.
survivor_facts worker(int rank, const std::string& letters) {
  const auto has = [&](char letter) { return letters.find(letter) != std::string::npos; };
  survivor_facts facts;
  facts.rank = rank;
  facts.runs = !has('x');
  facts.sent_survive = has('s');
  facts.has_channel = has('c');
  facts.is_ready = has('r');
  facts.has_finished = has('f');
  facts.is_overdue = has('o');
  return facts;
}

epoch_end end_of(const std::vector<std::string>& workers, const std::string& marks = {}) {
  epoch_end end;
  for (const std::string& letters : workers) {
    end.workers.push_back(worker(static_cast<int>(end.workers.size()), letters));
  }
  end.had_survivors = marks.find('h') != std::string::npos;
  end.is_pause = marks.find('p') != std::string::npos;
  return end;
}

TEST_CASE("rejoin: what follows from the end of an epoch", "[agent]") {
  struct row {
    std::vector<std::string> workers;
    /// h: some had survived an earlier epoch; p: the job pauses.
    std::string marks;
    action what;
    std::string reason;
  };
  const std::string all_ready = "every worker has left the epoch";
  const std::vector<row> rows{
      // One has ended; the others leave one after the other.
      {{"sc", "xs", "sc"}, "", action::wait, "rank 0 leaves"},
      {{"scr", "xs", "sc"}, "", action::wait, "rank 2 leaves"},
      {{"scr", "xs", "scr"}, "", action::meet, all_ready},
      // The membership changes, so that all are well.
      {{"scr", "scr"}, "", action::meet, all_ready},
      // Time decides only where it matters.
      {{"scro", "xso"}, "", action::meet, all_ready},
      {{"scr", "xs", "sco"}, "", action::restart_all, "rank 2 did not leave its epoch in time"},
      {{"sc", "sco"}, "", action::restart_all, "rank 1 did not leave its epoch in time"},
      {{"scro", "sc"}, "", action::wait, "rank 1 leaves"},
      // All have ended here; others may be left elsewhere.
      {{"xs", "xs"}, "", action::meet, all_ready},
      // One that loses its channel may be about to end.
      {{"s", "xs"}, "", action::wait, "rank 0 leaves"},
      {{"sr", "xs"}, "", action::wait, "rank 0 leaves"},
      {{"sro", "xs"}, "", action::restart_all, "rank 0 has lost its control channel"},
      // In the first epoch each has to say it, also the one that ended.
      {{"sc", "x"}, "", action::restart_all, "rank 1 has not said that it can rejoin"},
      {{"", "xs"}, "", action::restart_all, "rank 0 has not said that it can rejoin"},
      // In a later one it is a newcomer that has not got so far, and is replaced once more.
      {{"scr", "x"}, "h", action::meet, all_ready},
      {{"scr", ""}, "h", action::meet, all_ready},
      {{"scro", "co", "xso"}, "h", action::meet, all_ready},
      // Who has finished does not come back, so that nobody does.
      {{"scf", "xs"}, "", action::restart_all, "rank 0 has finished its work"},
      {{"scr", "xsf"}, "h", action::restart_all, "rank 1 has finished its work"},
      {{"scr", "scr"}, "p", action::restart_all, "the job pauses"}};
  for (const auto& [workers, marks, what, reason] : rows) {
    const rejoin_step step = decide_rejoin(end_of(workers, marks));
    INFO(reason);
    CHECK(step.what == what);
    CHECK(step.reason == reason);
    // What is known before anybody was asked is what follows in the end.
    const epoch_end end = end_of(workers, marks);
    const bool is_late = std::any_of(end.workers.begin(), end.workers.end(),
                                     [](const survivor_facts& facts) { return facts.is_overdue; });
    if (!is_late) CHECK(obstacle_to(end).empty() == (what != action::restart_all));
  }
}

TEST_CASE("rejoin: no worker is waited for after its time", "[agent]") {
  const std::vector<std::string> states{"", "s", "sc", "scr", "sr", "scf", "x", "xs", "xsf"};
  for (const std::string& first : states) {
    for (const std::string& second : states) {
      for (const char* const marks : {"", "h"}) {
        CHECK(decide_rejoin(end_of({first + "o", second + "o"}, marks)).what != action::wait);
      }
    }
  }
}

TEST_CASE("rejoin: the time to leave counts from the last operation with others", "[agent]") {
  const elastic::time_point end(1000s);
  CHECK(rejoin_deadline(end, std::nullopt, 10s) == end + 60s);
  CHECK(rejoin_deadline(end, end - 3s, 10s) == end + 10s);
  CHECK(rejoin_deadline(end, end, 10s) == end + 10s);
  CHECK(rejoin_deadline(end, end + 55s, 10s) == end + 65s);
  CHECK(rejoin_deadline(end, std::nullopt, elastic::duration::max()) > end + 365 * 24h);
  CHECK(rejoin_deadline(end, end, elastic::duration::max()) == elastic::time_point::max());
}

TEST_CASE("rejoin: whether a failure is a change", "[agent]") {
  CHECK(decide_ask(false, std::nullopt, false) == ask_answer::wait);
  CHECK(decide_ask(false, std::nullopt, true) == ask_answer::no_change);
  CHECK(decide_ask(true, std::nullopt, false) == ask_answer::change);
  CHECK(decide_ask(true, std::nullopt, true) == ask_answer::change);
  CHECK(decide_ask(true, 3, false) == ask_answer::no_change);
  CHECK(decide_ask(false, 3, false) == ask_answer::no_change);
}

// ---- all nodes ----------------------------------------------------------------------------------

node_epoch node(int place, int survivors = 1, std::int64_t round = 4) {
  node_epoch told;
  told.replaces = true;
  told.term = 1;
  told.round = place < 0 ? -1 : round;
  told.place = place;
  told.survivors = survivors;
  return told;
}

TEST_CASE("rejoin: nodes keep their places, and whole nodes fill holes", "[agent]") {
  struct row {
    std::vector<int> last;
    std::vector<int> now;
  };
  const std::vector<row> rows{{{0, 1, 2, 3}, {0, 1, 2, 3}},
                              // The rendezvous names them in another order.
                              {{2, 0, 1}, {2, 0, 1}},
                              // Node 1 is lost: the last moves.
                              {{0, 2, 3}, {0, 2, 1}},
                              {{3, 2, 0}, {1, 2, 0}},
                              // A node that stood by takes its place instead.
                              {{0, 2, 3, -1}, {0, 2, 3, 1}},
                              {{-1, 0, 2, 3}, {1, 0, 2, 3}},
                              // Two are lost, one comes.
                              {{0, 3, -1}, {0, 1, 2}},
                              // More nodes than before.
                              {{0, 1, -1, -1}, {0, 1, 2, 3}},
                              {{-1, 1, -1, 0}, {2, 1, 3, 0}},
                              {{5}, {0}},
                              {{-1}, {0}}};
  for (const auto& [last, now] : rows) {
    std::vector<node_epoch> nodes;
    for (const int place : last) nodes.push_back(node(place));
    CHECK(keep_places(nodes) == now);
  }
}

TEST_CASE("rejoin: of two nodes that name one place, that of the newer epoch has it", "[agent]") {
  CHECK(keep_places({node(0, 1, 4), node(0, 1, 5)}) == std::vector<int>{1, 0});
  node_epoch of_new_server = node(0, 1, 1);
  of_new_server.term = 2;
  CHECK(keep_places({node(0, 1, 9), of_new_server}) == std::vector<int>{1, 0});
}

TEST_CASE("rejoin: a node whose place is gone takes none that another one keeps", "[agent]") {
  CHECK(keep_places({node(0, 1, 4), node(9, 1, 5)}) == std::vector<int>{0, 1});
}

TEST_CASE("rejoin: whatever nodes say, each has one place", "[agent]") {
  elastic::detail::random_source random(31);
  for (int run = 0; run < 2000; ++run) {
    std::vector<node_epoch> nodes;
    const auto count = 1 + random.below(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      nodes.push_back(node(static_cast<int>(random.below(10)) - 1, 1,
                           static_cast<std::int64_t>(random.below(3))));
    }
    const std::vector<int> places = keep_places(nodes);
    CHECK(std::set<int>(places.begin(), places.end()).size() == nodes.size());
    CHECK(*std::min_element(places.begin(), places.end()) == 0);
    CHECK(*std::max_element(places.begin(), places.end()) + 1 == static_cast<int>(nodes.size()));
  }
}

TEST_CASE("rejoin: how an epoch begins", "[agent]") {
  const epoch_plan kept = plan_epoch({node(1), node(0, 0)}, true);
  CHECK(kept.is_possible);
  CHECK(kept.keeps_survivors);
  CHECK(kept.places == std::vector<int>{1, 0});
  CHECK(kept.reason.empty());
  // The worker of rank 0 has to be where its store is.
  CHECK(plan_epoch({node(1), node(0)}, false).places == std::vector<int>{0, 1});

  const epoch_plan first = plan_epoch({node(-1, 0), node(-1, 0)}, true);
  CHECK(first.is_possible);
  CHECK_FALSE(first.keeps_survivors);
  CHECK(first.reason.empty());

  const epoch_plan dead = plan_epoch({node(1, 0), node(0, 0)}, true);
  CHECK_FALSE(dead.keeps_survivors);
  CHECK(dead.reason == "no worker of the last epoch is left");
  CHECK(dead.places == std::vector<int>{0, 1});

  node_epoch deaf = node(1, 0);
  deaf.obstacle = "rank 3 did not leave its epoch in time";
  const epoch_plan all = plan_epoch({node(0), deaf}, true);
  CHECK(all.is_possible);
  CHECK_FALSE(all.keeps_survivors);
  CHECK(all.reason == deaf.obstacle);

  // A node that comes back: the others have had another epoch without it.
  node_epoch fenced = node(1, 0, 3);
  fenced.obstacle = "the workers were told to end";
  CHECK(plan_epoch({fenced, node(0)}, true).keeps_survivors);
  node_epoch of_old_server = fenced;
  of_old_server.term = 0;
  of_old_server.round = 9;
  CHECK(plan_epoch({of_old_server, node(0)}, true).keeps_survivors);

  const epoch_plan mixed = plan_epoch({node(0), node_epoch()}, true);
  CHECK_FALSE(mixed.is_possible);
  CHECK_FALSE(mixed.keeps_survivors);
  CHECK(mixed.reason.find("node 1 of the round does not replace ranks") == 0);
}

}  // namespace rejoin_machine_tests

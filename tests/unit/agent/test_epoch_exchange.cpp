// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/rounds/epoch_exchange.hpp>

#include <elastic/agent/rank_exchange.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace epoch_exchange_tests {

using elastic::assigned_ranks;
using elastic::errc;
using elastic::error;
using elastic::rendezvous_round;
using elastic::role_info;
using elastic::task;
using elastic::detail::epoch_agreement;
using elastic::detail::exchange_epoch;
using elastic::detail::node_epoch;
using elastic::detail::parse_epoch_agreement;
using elastic::detail::parse_node_epoch;
using elastic::test::contains_text;

node_epoch node(int place, int survivors) {
  node_epoch told;
  told.replaces = true;
  told.term = 7;
  told.round = place < 0 ? -1 : 3;
  told.place = place;
  told.survivors = survivors;
  return told;
}

rendezvous_round round_of(std::shared_ptr<elastic::store> agents, int rank, int nodes) {
  rendezvous_round round;
  round.agents = std::move(agents);
  round.round = 4;
  round.group_rank = rank;
  round.group_world_size = nodes;
  round.master.served_by_agent = true;
  return round;
}

task<void> meet(rendezvous_round round, role_info mine, node_epoch self, epoch_agreement& result) {
  result = co_await exchange_epoch(std::move(round), std::move(mine), std::move(self));
}

TEST_CASE("epoch exchange: what a node tells is read, and other nodes tell nothing", "[agent]") {
  node_epoch told = node(2, 5);
  told.obstacle = "rank \"1\" is\ngone";
  const role_info mine("trainer", 8);
  const std::string text = elastic::detail::node_epoch_text(mine, told, 1);
  told.obstacle = parse_node_epoch(text, 1).obstacle;
  CHECK(told.obstacle.find('\n') == std::string::npos);
  CHECK(parse_node_epoch(text, 1) == told);
  CHECK(elastic::detail::parse_role_info(text, 1).local_world_size == 8);
  const std::string torch = elastic::detail::role_info_text(mine, 1);
  CHECK(parse_node_epoch(torch, 1) == node_epoch());
  CHECK_FALSE(parse_node_epoch(torch, 1).replaces);
  for (const char* const bad :
       {R"({"role": "a", "local_world_size": 1, "epoch": 3})",
        R"({"epoch": {"term": 1, "round": 1, "place": 1, "survivors": 1}})",
        R"({"epoch": {"term": -1, "round": 1, "place": 1, "survivors": 1, "obstacle": ""}})",
        R"({"epoch": {"term": 1, "round": 1, "place": 100000, "survivors": 1, "obstacle": ""}})",
        R"({"epoch": {"term": 1, "round": 1, "place": 1, "survivors": 1e3, "obstacle": ""}})",
        R"({"epoch": {"term": 1, "round": 1, "place": 1, "survivors": 1, "obstacle": 2}})"}) {
    CHECK_THROWS_WITH(parse_node_epoch(bad, 6), contains_text("node 6 of the round"));
  }
}

TEST_CASE("epoch exchange: an answer is read, and nonsense refused", "[agent]") {
  epoch_agreement answer;
  answer.place = 3;
  answer.is_possible = answer.keeps_survivors = true;
  answer.reason = "a";
  const epoch_agreement read = parse_epoch_agreement(elastic::detail::epoch_agreement_text(answer));
  CHECK(read.place == 3);
  CHECK(read.is_possible);
  CHECK(read.keeps_survivors);
  CHECK(read.reason == "a");
  for (const char* const bad : {"", "[]", "{}", R"({"place": -1})",
                                R"({"place": 0, "possible": 1, "keeps": true, "reason": ""})",
                                R"({"place": 0, "possible": true, "keeps": true})"}) {
    CHECK_THROWS_AS(parse_epoch_agreement(bad), error);
  }
}

CO_TEST("epoch exchange: nodes keep their places, and their workers their ranks", "[agent]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  std::vector<epoch_agreement> results(3);
  std::vector<task<void>> meeting;
  // Place 1 is free; the node of place 3 moves there with its group of 4.
  const std::vector<int> places{2, 0, 3};
  const std::vector<int> workers{2, 2, 4};
  for (int rank = 0; rank < 3; ++rank) {
    const auto slot = static_cast<std::size_t>(rank);
    meeting.push_back(meet(round_of(agents, rank, 3), role_info("default", workers[slot]),
                           node(places[slot], 1), results[slot]));
  }
  co_await elastic::when_all(std::move(meeting));
  CHECK(results[0].place == 2);
  CHECK(results[1].place == 0);
  CHECK(results[2].place == 1);
  CHECK(results[1].ranks == assigned_ranks{0, 8, 0, 8});
  CHECK(results[2].ranks == assigned_ranks{2, 8, 2, 8});
  CHECK(results[0].ranks == assigned_ranks{6, 8, 6, 8});
  for (const epoch_agreement& result : results) CHECK(result.keeps_survivors);
}

CO_TEST("epoch exchange: an agent that does not replace ranks is named, wherever it is",
        "[agent]") {
  for (const int stranger : {0, 1}) {
    const auto agents = std::make_shared<elastic::memory_store>();
    const int own = 1 - stranger;
    std::optional<assigned_ranks> told;
    epoch_agreement result;
    const auto other = [&]() -> task<void> {
      told = co_await elastic::exchange_ranks(agents, role_info("default", 2), stranger, 2);
    };
    std::vector<task<void>> meeting;
    meeting.push_back(other());
    meeting.push_back(meet(round_of(agents, own, 2), role_info("default", 2), node(-1, 0), result));
    co_await elastic::when_all(std::move(meeting));
    CHECK_FALSE(result.is_possible);
    CHECK(result.place == own);
    CHECK(result.ranks == assigned_ranks{own * 2, 4, own * 2, 4});
    CHECK(told == assigned_ranks{stranger * 2, 4, stranger * 2, 4});
    CHECK(result.reason.find("node " + std::to_string(stranger) + " of the round") == 0);
  }
}

}  // namespace epoch_exchange_tests

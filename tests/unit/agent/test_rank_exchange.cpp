// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/rank_exchange.hpp>

#include <elastic/rendezvous/detail/gather.hpp>
#include <elastic/rendezvous/detail/master_keys.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/noting_store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rank_exchange_tests {

using elastic::assigned_ranks;
using elastic::rendezvous_round;
using elastic::role_info;
using elastic::task;
using elastic::test::noting_store;

// The actions of an agent of PyTorch 1.13 in a round, from the ranks to the exit barrier.
struct agent {
  std::shared_ptr<std::vector<std::string>> notes = std::make_shared<std::vector<std::string>>();
  assigned_ranks ranks;
  rendezvous_round::master_endpoint master;
  bool has_ended = false;
};

task<void> run(std::shared_ptr<elastic::store> agents, std::shared_ptr<agent> self, role_info info,
               int rank, int size) {
  const auto store = std::make_shared<noting_store>(std::move(agents), self->notes);
  self->ranks = co_await elastic::exchange_ranks(store, info, rank, size,
                                                 rendezvous_round::agent_dialect::gather);
  rendezvous_round::master_endpoint offer;
  offer.address = "localhost";
  offer.port = 47053;
  self->master = co_await elastic::detail::agree_on_master(store, offer, rank);
  const std::string prefix = "torchelastic/agent/terminal_state";
  const std::string text = std::to_string(rank);
  co_await elastic::detail::gather(store, prefix, text, rank, size);
  self->has_ended = true;
}

std::vector<std::shared_ptr<agent>> start_all(elastic::test::manual_time& time,
                                              std::shared_ptr<elastic::store> agents,
                                              std::vector<role_info> nodes) {
  std::vector<std::shared_ptr<agent>> result;
  for (const role_info& info : nodes) {
    const int rank = static_cast<int>(result.size());
    result.push_back(std::make_shared<agent>());
    asio::co_spawn(time.context(),
                   run(agents, result.back(), info, rank, static_cast<int>(nodes.size())),
                   asio::detached);
  }
  return result;
}

TIME_TEST("rank exchange: the keys and their order are those of agents of PyTorch 1.13",
          "[agent]") {
  // As captured from two agents of 1.13.1; each of them reads the master's keys once more.
  const std::vector<std::string> rank_0 = {
      R"(set torchelastic/role_info0={"role": "trainer", "rank": 0, "local_world_size": 2})",
      "get torchelastic/role_info0",
      "get torchelastic/role_info1",
      "set torchelastic/role_info0.FIN=FIN",
      "get torchelastic/role_info0.FIN",
      "get torchelastic/role_info1.FIN",
      "set MASTER_ADDR=localhost",
      "set MASTER_PORT=47053",
      "set torchelastic/agent/terminal_state0=0",
      "get torchelastic/agent/terminal_state0",
      "get torchelastic/agent/terminal_state1",
      "set torchelastic/agent/terminal_state0.FIN=FIN",
      "get torchelastic/agent/terminal_state0.FIN",
      "get torchelastic/agent/terminal_state1.FIN"};
  const std::vector<std::string> rank_1 = {
      R"(set torchelastic/role_info1={"role": "trainer", "rank": 1, "local_world_size": 2})",
      "get torchelastic/role_info0",
      "get torchelastic/role_info1",
      "set torchelastic/role_info1.FIN=FIN",
      "get MASTER_ADDR",
      "get MASTER_PORT",
      "set torchelastic/agent/terminal_state1=1",
      "get torchelastic/agent/terminal_state0",
      "get torchelastic/agent/terminal_state1",
      "set torchelastic/agent/terminal_state1.FIN=FIN"};
  const std::vector<role_info> nodes(2, role_info{"trainer", 2});
  const auto agents = start_all(time, std::make_shared<elastic::memory_store>(), nodes);
  co_await time.sleep_until(time.now());
  CHECK(*agents[0]->notes == rank_0);
  CHECK(*agents[1]->notes == rank_1);
  for (const auto& node : agents) {
    CHECK(node->has_ended);
    CHECK(node->master.address == "localhost");
    CHECK(node->master.port == 47053);
  }
}

TIME_TEST("rank exchange: whether one node assigns or all count, the ranks are the same",
          "[agent]") {
  const std::vector<role_info> nodes = {{"a", 2}, {"b", 1}, {"a", 3}, {"b", 4}, {"c", 1}};
  const auto agents = start_all(time, std::make_shared<elastic::memory_store>(), nodes);
  co_await time.sleep_until(time.now());
  const std::vector<assigned_ranks> expected = elastic::assign_ranks(nodes);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    CHECK(agents[node]->ranks == expected[node]);
  }
}

task<void> exchange(std::shared_ptr<elastic::store> agents, role_info info, int rank, int size,
                    std::vector<assigned_ranks>* results) {
  const assigned_ranks ranks = co_await elastic::exchange_ranks(agents, info, rank, size);
  results->at(static_cast<std::size_t>(rank)) = ranks;
}

TIME_TEST("rank exchange: among nodes that are all alike none waits for what the others tell",
          "[agent]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  role_info info{"trainer", 4};
  info.is_same_everywhere = true;
  std::vector<assigned_ranks> ranks(3);
  // Node 2 is of torchrun, and says nothing at all.
  co_await exchange(agents, info, 1, 3, &ranks);
  CHECK(ranks[1] == assigned_ranks{4, 12, 4, 12});
  co_await exchange(agents, info, 0, 3, &ranks);
  CHECK(ranks[0] == assigned_ranks{0, 12, 0, 12});
}

TIME_TEST("rank exchange: a node that was not told that all are alike finds its ranks all the same",
          "[agent]") {
  // Whichever of the two is node 0.
  for (const int alike_rank : {0, 1}) {
    const auto agents = std::make_shared<elastic::memory_store>();
    std::vector<assigned_ranks> ranks(2);
    for (const int rank : {0, 1}) {
      role_info info{"trainer", 4};
      info.is_same_everywhere = rank == alike_rank;
      asio::co_spawn(time.context(), exchange(agents, info, rank, 2, &ranks), asio::detached);
    }
    co_await time.sleep_until(time.now());
    CHECK(ranks[0] == assigned_ranks{0, 8, 0, 8});
    CHECK(ranks[1] == assigned_ranks{4, 8, 4, 8});
  }
}

TIME_TEST("rank exchange: nonsense about the master is refused", "[agent]") {
  for (const std::string port : {"", "0", "65536", "80x", "-1"}) {
    const auto agents = std::make_shared<elastic::memory_store>();
    co_await agents->set("MASTER_ADDR", "node1");
    co_await agents->set("MASTER_PORT", port);
    bool is_refused = false;
    try {
      co_await elastic::detail::read_master(agents);
    } catch (const elastic::error& refusal) {
      is_refused = refusal.code() == elastic::errc::protocol_violation;
    }
    CHECK(is_refused);
  }
}

}  // namespace rank_exchange_tests

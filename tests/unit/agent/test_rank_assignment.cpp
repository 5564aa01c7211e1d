// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/rank_exchange.hpp>
#include <elastic/base/race.hpp>
#include <elastic/store/memory_store.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rank_assignment_tests {

using elastic::assigned_ranks;
using elastic::role_info;

std::vector<role_info> nodes_of(const std::vector<int>& sizes, const std::string& role = "t") {
  std::vector<role_info> nodes;
  for (int size : sizes) nodes.push_back({role, size});
  return nodes;
}

TEST_CASE("rank assignment: ranks follow the order of the nodes", "[agent]") {
  const auto ranks = elastic::assign_ranks(nodes_of({2, 3, 1}));
  CHECK(ranks[0] == assigned_ranks{0, 6, 0, 6});
  CHECK(ranks[1] == assigned_ranks{2, 6, 2, 6});
  CHECK(ranks[2] == assigned_ranks{5, 6, 5, 6});
}

TEST_CASE("rank assignment: roles are numbered apart from each other", "[agent]") {
  const auto ranks = elastic::assign_ranks({{"trainer", 2}, {"reader", 3}, {"trainer", 1}});
  CHECK(ranks[0] == assigned_ranks{0, 6, 0, 3});
  CHECK(ranks[1] == assigned_ranks{2, 6, 0, 3});
  CHECK(ranks[2] == assigned_ranks{5, 6, 2, 3});
}

TEST_CASE("rank assignment: every rank exactly once, for all sizes of up to four nodes",
          "[agent]") {
  for (int code = 0; code < 3 * 3 * 3 * 3 * 16; ++code) {
    std::vector<role_info> nodes;
    for (int node = 0, sizes = code / 16, roles = code % 16; node < 4; ++node) {
      nodes.push_back({roles & 1 ? "a" : "b", sizes % 3 + 1});
      sizes /= 3;
      roles >>= 1;
    }
    const auto ranks = elastic::assign_ranks(nodes);
    std::set<int> unique_ranks;
    std::set<std::pair<std::string, int>> unique_role_ranks;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      for (int local_rank = 0; local_rank < nodes[node].local_world_size; ++local_rank) {
        CAPTURE(code, node, local_rank);
        REQUIRE(unique_ranks.insert(ranks[node].base_rank + local_rank).second);
        REQUIRE(
            unique_role_ranks.insert({nodes[node].role, ranks[node].base_role_rank + local_rank})
                .second);
        REQUIRE(ranks[node].base_role_rank + local_rank < ranks[node].role_world_size);
      }
    }
    REQUIRE(*unique_ranks.begin() == 0);
    REQUIRE(*unique_ranks.rbegin() == ranks[0].world_size - 1);
    REQUIRE(static_cast<int>(unique_ranks.size()) == ranks[0].world_size);
  }
}

// Takes minutes if each node is compared with each other.
TEST_CASE("rank assignment: 100,000 nodes of as many roles", "[agent]") {
  constexpr int count = 100'000;
  std::vector<role_info> nodes;
  for (int node = 0; node < count; ++node) nodes.push_back({"role " + std::to_string(node), 2});
  const auto ranks = elastic::assign_ranks(nodes);
  CHECK(ranks.front() == assigned_ranks{0, 2 * count, 0, 2});
  CHECK(ranks.back() == assigned_ranks{2 * count - 2, 2 * count, 0, 2});
}

TEST_CASE("rank assignment: a node without a worker is refused", "[agent]") {
  CHECK_THROWS_WITH(elastic::assign_ranks(nodes_of({2, 0})),
                    "the node of group rank 1 has 0 workers: 1 is the least");
}

CO_TEST("rank exchange: what no round has is refused", "[agent]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  const role_info one("t", 1);
  const role_info none("t", 0);
  const auto refused = elastic::errc::invalid_argument;
  CHECK(co_await elastic::test::error_of(elastic::exchange_ranks(nullptr, one, 0, 1)) == refused);
  CHECK(co_await elastic::test::error_of(elastic::exchange_ranks(agents, one, 1, 1)) == refused);
  CHECK(co_await elastic::test::error_of(elastic::exchange_ranks(agents, one, -1, 1)) == refused);
  CHECK(co_await elastic::test::error_of(elastic::exchange_ranks(agents, none, 0, 1)) == refused);
}

elastic::task<void> exchange(std::shared_ptr<elastic::store> agents, role_info info, int rank,
                             int size, assigned_ranks& result) {
  result = co_await elastic::exchange_ranks(agents, info, rank, size);
}

CO_TEST("rank exchange: what no node would write is refused unread", "[agent]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  std::string members = R"({"role": "t", "local_world_size": 1)";
  for (int i = 0; i < 2000; ++i) members += ", \"" + std::to_string(i) + "\": 0";
  members += "}";
  co_await agents->set("torchelastic/role_info/1", members);
  const role_info info{"t", 1};
  try {
    co_await elastic::exchange_ranks(agents, info, 0, 2);
    FAIL("it was taken");
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::protocol_violation);
  }
}

CO_TEST("rank exchange: each node learns its ranks, whoever comes first", "[agent]") {
  auto agents = std::make_shared<elastic::memory_store>();
  assigned_ranks first_ranks;
  assigned_ranks second_ranks;
  const role_info two_workers{"trainer", 2};
  const role_info three_workers{"trainer", 3};
  using namespace asio::experimental::awaitable_operators;
  co_await (exchange(agents, three_workers, 1, 2, second_ranks) &&
            exchange(agents, two_workers, 0, 2, first_ranks));
  CHECK(first_ranks == assigned_ranks{0, 5, 0, 5});
  CHECK(second_ranks == assigned_ranks{2, 5, 2, 5});
  const std::string info_text = co_await agents->get("torchelastic/role_info/1");
  CHECK(info_text == R"({"role": "trainer", "rank": 1, "local_world_size": 3})");
  const std::string ranks_text = co_await agents->get("torchelastic/assigned_ranks/1");
  CHECK(ranks_text == "[2, 5, 2, 5]");
}

TEST_CASE("rank exchange: what another node told is checked", "[agent]") {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"role": 1, "rank": 0, "local_world_size": 1})",
        R"({"role": "a", "local_world_size": 0})", R"({"role": "a", "local_world_size": 9999999})",
        R"({"role": "a", "local_world_size": 1.5})", R"({"role": "a"})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(elastic::detail::parse_role_info(text, 3), elastic::error);
  }
  for (const char* text : {"", "[]", "[1, 2, 3]", "[1, 2, 3, -4]", "[1, 2, 3, \"4\"]", "{}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(elastic::detail::parse_assigned_ranks(text), elastic::error);
  }
}

}  // namespace rank_assignment_tests

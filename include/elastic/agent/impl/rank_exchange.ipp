// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_exchange.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/detail/gather.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline constexpr int most_ranks = 2'000'000'000;

ELASTIC_DECL std::string role_info_text(const role_info& info, int group_rank,
                                        const std::string& more) {
  return fmt::format(R"({{"role": {}, "rank": {}, "local_world_size": {}{}}})",
                     json_value(info.role).dump(), group_rank, info.local_world_size, more);
}

ELASTIC_DECL std::string assigned_ranks_text(const assigned_ranks& ranks) {
  return fmt::format("[{}, {}, {}, {}]", ranks.base_rank, ranks.world_size, ranks.base_role_rank,
                     ranks.role_world_size);
}

ELASTIC_DECL std::optional<int> whole_number(const json_value& value, int least, int most) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) return std::nullopt;
  return static_cast<int>(number);
}

ELASTIC_DECL json_value parse_exchanged(const std::string& text) {
  if (text.size() > limits::rank_exchange_bytes) return {};
  return parse_json(text);
}

ELASTIC_DECL role_info parse_role_info(const std::string& text, int group_rank) {
  const auto json = parse_exchanged(text);
  if (json.is_object() && json.contains("role") && json["role"].is_string() &&
      json.contains("local_world_size")) {
    const auto size = whole_number(json["local_world_size"], 1, limits::local_world_size);
    if (size) return {json["role"].get<std::string>(), *size};
  }
  throw error(errc::protocol_violation,
              fmt::format("node {} of the round sent malformed data about its workers: '{:.200}'",
                          group_rank, text));
}

/// Parses the infos of all nodes, in the order of the group ranks.
inline std::vector<role_info> parse_role_infos(const std::vector<std::string>& texts) {
  std::vector<role_info> nodes;
  for (const std::string& text : texts) {
    nodes.push_back(parse_role_info(text, static_cast<int>(nodes.size())));
  }
  return nodes;
}

ELASTIC_DECL assigned_ranks parse_assigned_ranks(const std::string& text) {
  const auto json = parse_exchanged(text);
  std::vector<int> ranks;
  if (json.is_array()) {
    for (const json_value& value : json) {
      if (const auto rank = whole_number(value, 0, most_ranks)) ranks.push_back(*rank);
    }
  }
  if (ranks.size() != 4 || json.size() != 4) {
    throw error(errc::protocol_violation,
                fmt::format("the ranks assigned to this node are not understood: '{:.200}'", text));
  }
  return {ranks[0], ranks[1], ranks[2], ranks[3]};
}

/// Writes each node's ranks.
inline task<void> publish_ranks(std::shared_ptr<store> agents,
                                std::vector<assigned_ranks> assigned) {
  std::vector<std::pair<std::string, std::string>> answers;
  for (const assigned_ranks& ranks : assigned) {
    answers.emplace_back(assigned_ranks_key + std::to_string(answers.size()),
                         assigned_ranks_text(ranks));
  }
  co_await agents->multi_set(std::move(answers));
}

/// All nodes are alike, so each computes its own ranks. It still writes the keys that a node
/// without this option reads, except those that nodes of torchrun do not write either.
/// Source: TORCH_ELASTIC_WORKER_IDENTICAL of PyTorch 2.4 and newer.
inline task<assigned_ranks> assign_alike(std::shared_ptr<store> agents, role_info mine,
                                         int group_rank, int group_world_size) {
  const std::string my_info_key = role_info_key + std::to_string(group_rank);
  const std::string text = role_info_text(mine, group_rank);
  co_await agents->set(my_info_key, text);
  const std::vector<role_info> nodes(static_cast<std::size_t>(group_world_size), mine);
  std::vector<assigned_ranks> assigned = assign_ranks(nodes);
  const assigned_ranks ranks = assigned[static_cast<std::size_t>(group_rank)];
  if (group_rank == 0) co_await publish_ranks(std::move(agents), std::move(assigned));
  co_return ranks;
}

/// The node of group rank 0 gathers the infos of all nodes and assigns the ranks.
/// Source: the exchange of PyTorch 2.4 and newer (`torchelastic/role_info`,
/// `torchelastic/assigned_ranks`).
inline task<assigned_ranks> exchange_by_assigning(std::shared_ptr<store> agents, std::string mine,
                                                  int group_rank, int group_world_size) {
  const std::string my_info_key = role_info_key + std::to_string(group_rank);
  co_await agents->set(my_info_key, std::move(mine));
  if (group_rank == 0) {
    std::vector<std::string> keys = rank_keys(role_info_key, group_world_size, "");
    const std::vector<std::string> texts = co_await agents->multi_get(std::move(keys));
    std::vector<assigned_ranks> assigned = assign_ranks(parse_role_infos(texts));
    co_await publish_ranks(agents, std::move(assigned));
  }
  const std::string my_ranks_key = assigned_ranks_key + std::to_string(group_rank);
  const std::string text = co_await agents->get(my_ranks_key);
  co_return parse_assigned_ranks(text);
}

/// Every node reads the infos of all nodes and computes the same result.
/// Source: the exchange of PyTorch before 2.4 (`torchelastic/role_info`).
inline task<assigned_ranks> exchange_by_gathering(std::shared_ptr<store> agents, std::string mine,
                                                  int group_rank, int group_world_size) {
  const std::string prefix = "torchelastic/role_info";
  const std::vector<std::string> texts =
      co_await gather(std::move(agents), prefix, std::move(mine), group_rank, group_world_size);
  co_return assign_ranks(parse_role_infos(texts))[static_cast<std::size_t>(group_rank)];
}

}  // namespace detail

ELASTIC_DECL task<assigned_ranks> exchange_ranks(std::shared_ptr<store> agents, role_info mine,
                                                 int group_rank, int group_world_size,
                                                 rendezvous_round::agent_dialect dialect) {
  detail::required(agents, "exchange_ranks: the store of the agents");
  if (group_rank < 0 || group_rank >= group_world_size) {
    throw error(errc::invalid_argument,
                fmt::format("exchange_ranks: {} is not a group rank of {} nodes", group_rank,
                            group_world_size));
  }
  if (mine.local_world_size < 1) {
    throw error(errc::invalid_argument,
                fmt::format("exchange_ranks: this node has {} workers: 1 is the least",
                            mine.local_world_size));
  }
  const std::string text = detail::role_info_text(mine, group_rank);
  if (dialect == rendezvous_round::agent_dialect::gather) {
    co_return co_await detail::exchange_by_gathering(std::move(agents), text, group_rank,
                                                     group_world_size);
  }
  if (mine.is_same_everywhere) {
    co_return co_await detail::assign_alike(std::move(agents), std::move(mine), group_rank,
                                            group_world_size);
  }
  co_return co_await detail::exchange_by_assigning(std::move(agents), text, group_rank,
                                                   group_world_size);
}

}  // namespace elastic

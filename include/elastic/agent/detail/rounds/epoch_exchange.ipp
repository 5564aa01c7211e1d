// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/epoch_exchange.hpp>

#include <elastic/agent/rank_exchange.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/rendezvous/detail/gather.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The prefix of the keys of the answers; the group rank of the node follows.
inline constexpr const char* epoch_key = "elastic/epoch/";

inline std::string short_reason(const std::string& reason) {
  return json_string(printable_line(reason.substr(0, limits::control_text_bytes)));
}

ELASTIC_DECL std::string node_epoch_text(const role_info& mine, const node_epoch& self,
                                         int group_rank) {
  return role_info_text(
      mine, group_rank,
      fmt::format(R"(, "epoch": {{"term": {}, "round": {}, "place": {}, "survivors": {}, )"
                  R"("obstacle": {}}})",
                  self.term, self.round, self.place, self.survivors, short_reason(self.obstacle)));
}

/// Reads a number that another node sent. Result: false if it is missing or out of bounds.
template <class Number>
bool read_field(const json_value& object, const char* name, std::int64_t least, std::int64_t most,
                Number& value) {
  const auto entry = object.find(name);
  if (entry == object.end() || !entry->is_number_integer()) return false;
  const auto number = entry->template get<std::int64_t>();
  if (number < least || number > most) return false;
  value = static_cast<Number>(number);
  return true;
}

inline bool read_field(const json_value& object, const char* name, std::string& value) {
  const auto entry = object.find(name);
  if (entry == object.end() || !entry->is_string()) return false;
  value = printable_line(entry->get<std::string>());
  return true;
}

ELASTIC_DECL node_epoch parse_node_epoch(const std::string& text, int group_rank) {
  const auto json = parse_exchanged(text);
  if (!json.is_object() || !json.contains("epoch")) return {};
  const json_value& fields = json["epoch"];
  node_epoch node;
  node.replaces = true;
  const std::int64_t most = limits::rendezvous_told_number;
  const bool is_understood =
      fields.is_object() && read_field(fields, "term", 0, most, node.term) &&
      read_field(fields, "round", -1, most, node.round) &&
      read_field(fields, "place", -1, limits::nodes - 1, node.place) &&
      read_field(fields, "survivors", 0, limits::local_world_size, node.survivors) &&
      read_field(fields, "obstacle", node.obstacle);
  if (is_understood) return node;
  throw error(errc::protocol_violation,
              fmt::format("node {} of the round sent malformed data about its last epoch: "
                          "'{:.200}'",
                          group_rank, text));
}

ELASTIC_DECL std::string epoch_agreement_text(const epoch_agreement& agreement) {
  return fmt::format(R"({{"place": {}, "possible": {}, "keeps": {}, "reason": {}}})",
                     agreement.place, agreement.is_possible, agreement.keeps_survivors,
                     short_reason(agreement.reason));
}

ELASTIC_DECL epoch_agreement parse_epoch_agreement(const std::string& text) {
  const auto fields = parse_exchanged(text);
  epoch_agreement agreement;
  const auto is_flag = [&](const char* name) {
    return fields.contains(name) && fields[name].is_boolean();
  };
  const bool is_understood =
      fields.is_object() && read_field(fields, "place", 0, limits::nodes - 1, agreement.place) &&
      is_flag("possible") && is_flag("keeps") && read_field(fields, "reason", agreement.reason);
  if (!is_understood) {
    throw error(errc::protocol_violation,
                fmt::format("the epoch assigned to this node is not understood: '{:.200}'", text));
  }
  agreement.is_possible = fields["possible"].get<bool>();
  agreement.keeps_survivors = fields["keeps"].get<bool>();
  return agreement;
}

/// The answer to each node, in the order of the rendezvous.
inline std::vector<epoch_agreement> agree_for_all(const std::vector<std::string>& texts,
                                                  bool may_move) {
  std::vector<node_epoch> nodes;
  for (const std::string& text : texts) {
    nodes.push_back(parse_node_epoch(text, static_cast<int>(nodes.size())));
  }
  const epoch_plan plan = plan_epoch(nodes, may_move);
  std::vector<role_info> by_place(texts.size());
  for (std::size_t node = 0; node < texts.size(); ++node) {
    by_place[static_cast<std::size_t>(plan.places[node])] =
        parse_role_info(texts[node], static_cast<int>(node));
  }
  const std::vector<assigned_ranks> assigned = assign_ranks(by_place);
  std::vector<epoch_agreement> agreements;
  for (const int place : plan.places) {
    agreements.push_back({assigned[static_cast<std::size_t>(place)], place, plan.is_possible,
                          plan.keeps_survivors, plan.reason});
  }
  return agreements;
}

/// On the node of group rank 0: reads the texts of all nodes and writes the answers.
inline task<void> answer_all(std::shared_ptr<store> agents, int group_world_size, bool may_move) {
  std::vector<std::string> keys = rank_keys(role_info_key, group_world_size, "");
  const std::vector<std::string> texts = co_await agents->multi_get(std::move(keys));
  const std::vector<epoch_agreement> agreements = agree_for_all(texts, may_move);
  std::vector<std::pair<std::string, std::string>> answers;
  // A node that has read its ranks reads these answers next, so they must be written before the
  // ranks.
  for (std::size_t node = 0; node < agreements.size(); ++node) {
    answers.emplace_back(epoch_key + std::to_string(node), epoch_agreement_text(agreements[node]));
  }
  co_await agents->multi_set(std::move(answers));
  std::vector<std::pair<std::string, std::string>> ranks;
  for (std::size_t node = 0; node < agreements.size(); ++node) {
    ranks.emplace_back(assigned_ranks_key + std::to_string(node),
                       assigned_ranks_text(agreements[node].ranks));
  }
  co_await agents->multi_set(std::move(ranks));
}

ELASTIC_DECL task<epoch_agreement> exchange_epoch(rendezvous_round round, role_info mine,
                                                  node_epoch self) {
  self.replaces = true;
  if (round.dialect == rendezvous_round::agent_dialect::gather) {
    epoch_agreement agreement;
    agreement.ranks = co_await exchange_ranks(round.agents, std::move(mine), round.group_rank,
                                              round.group_world_size, round.dialect);
    agreement.place = round.group_rank;
    agreement.reason = "the nodes of the round meet by the rules of torchrun";
    co_return agreement;
  }
  const std::string my_info_key = role_info_key + std::to_string(round.group_rank);
  const std::string text = node_epoch_text(mine, self, round.group_rank);
  co_await round.agents->set(my_info_key, text);
  if (round.group_rank == 0) {
    co_await answer_all(round.agents, round.group_world_size, round.master.served_by_agent);
  }
  const std::string my_ranks_key = assigned_ranks_key + std::to_string(round.group_rank);
  const std::string ranks = co_await round.agents->get(my_ranks_key);
  const std::string my_epoch_key = epoch_key + std::to_string(round.group_rank);
  std::vector<std::string> keys{my_epoch_key};
  epoch_agreement agreement;
  const bool is_answered = co_await round.agents->check(std::move(keys));
  if (is_answered) {
    const std::string answer = co_await round.agents->get(my_epoch_key);
    agreement = parse_epoch_agreement(answer);
  } else {
    agreement.place = round.group_rank;
    agreement.reason =
        "node 0 of the round does not replace ranks: it is one of torchrun, or one without "
        "on_failure replace";
  }
  agreement.ranks = parse_assigned_ranks(ranks);
  co_return agreement;
}

}  // namespace elastic::detail

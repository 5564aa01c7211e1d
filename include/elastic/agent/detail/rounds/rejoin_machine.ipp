// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/rejoin_machine.hpp>

#include <elastic/base/detail/stable_order.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL bool can_stay(const survivor_facts& worker) {
  return worker.runs && worker.sent_survive && !worker.has_finished;
}

ELASTIC_DECL std::string obstacle_to(const epoch_end& end) {
  if (end.is_pause) return "the job pauses";
  for (const survivor_facts& worker : end.workers) {
    if (worker.has_finished) return fmt::format("rank {} has finished its work", worker.rank);
  }
  for (const survivor_facts& worker : end.workers) {
    if (worker.withdrawn) return fmt::format("rank {}: {}", worker.rank, *worker.withdrawn);
  }
  for (const survivor_facts& worker : end.workers) {
    if (!worker.sent_survive && !end.had_survivors) {
      return fmt::format("rank {} has not said that it can rejoin", worker.rank);
    }
  }
  return {};
}

ELASTIC_DECL rejoin_step decide_rejoin(const epoch_end& end) {
  using action = rejoin_step::action;
  std::string obstacle = obstacle_to(end);
  if (!obstacle.empty()) return {action::restart_all, std::move(obstacle)};
  rejoin_step step{action::meet, "every worker has left the epoch"};
  for (const survivor_facts& worker : end.workers) {
    if (!can_stay(worker) || (worker.is_ready && worker.has_channel)) continue;
    if (worker.is_overdue) {
      return {action::restart_all,
              fmt::format("rank {} {}", worker.rank,
                          worker.has_channel ? "did not leave its epoch in time"
                                             : "has lost its control channel")};
    }
    // A worker without a channel is no reason to restart yet: its connection often closes before
    // the agent sees that it ended.
    if (step.what == action::wait) continue;
    step = {action::wait, fmt::format("rank {} leaves", worker.rank)};
  }
  return step;
}

ELASTIC_DECL time_point rejoin_deadline(time_point epoch_end, std::optional<time_point> asked_at,
                                        duration timeout) {
  if (asked_at) return deadline_after(std::max(epoch_end, *asked_at), timeout);
  constexpr duration most = duration::max() / rejoin_patience;
  return deadline_after(epoch_end, rejoin_patience * std::min(timeout, most));
}

ELASTIC_DECL ask_answer decide_ask(bool round_ends, std::optional<int> has_finished,
                                   bool is_overdue) {
  if (has_finished) return ask_answer::no_change;
  if (round_ends) return ask_answer::change;
  return is_overdue ? ask_answer::no_change : ask_answer::wait;
}

ELASTIC_DECL std::vector<int> keep_places(const std::vector<node_epoch>& nodes) {
  const auto count = static_cast<int>(nodes.size());
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // If two nodes claim the same rank, the one with the newer epoch keeps it.
  sort_stably(order, [&](std::size_t left, std::size_t right) {
    const node_epoch& one = nodes[left];
    const node_epoch& other = nodes[right];
    return std::tie(other.term, other.round, one.place) <
           std::tie(one.term, one.round, other.place);
  });
  std::vector<int> places(nodes.size(), -1);
  std::vector<bool> is_taken(nodes.size());
  const auto take = [&](std::size_t node, int place) {
    places[node] = place;
    is_taken[static_cast<std::size_t>(place)] = true;
  };
  for (const std::size_t node : order) {
    const int place = nodes[node].place;
    if (place < 0 || place >= count || is_taken[static_cast<std::size_t>(place)]) continue;
    take(node, place);
  }
  const auto next_free = [&] {
    return static_cast<int>(std::find(is_taken.begin(), is_taken.end(), false) - is_taken.begin());
  };
  // Nodes that were in the job choose before newcomers.
  for (const bool is_newcomer : {false, true}) {
    for (const std::size_t node : order) {
      if (places[node] < 0 && (nodes[node].place < 0) == is_newcomer) take(node, next_free());
    }
  }
  return places;
}

/// Whether a node took part in the last epoch of these nodes. If it did not, its obstacle is out of
/// date, for example that its workers were killed at a fence, and no longer prevents anything.
inline bool was_in_last_epoch(const node_epoch& node, const std::vector<node_epoch>& nodes) {
  return std::none_of(nodes.begin(), nodes.end(), [&](const node_epoch& other) {
    return std::tie(node.term, node.round) < std::tie(other.term, other.round);
  });
}

ELASTIC_DECL epoch_plan plan_epoch(const std::vector<node_epoch>& nodes, bool may_move) {
  epoch_plan plan;
  plan.places.resize(nodes.size());
  std::iota(plan.places.begin(), plan.places.end(), 0);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].replaces) continue;
    plan.reason = fmt::format(
        "node {} of the round does not replace ranks: it is one of torchrun, or one without "
        "on_failure replace",
        node);
    return plan;
  }
  plan.is_possible = true;
  for (const node_epoch& node : nodes) {
    if (node.obstacle.empty() || !was_in_last_epoch(node, nodes)) continue;
    plan.reason = node.obstacle;
    return plan;
  }
  plan.keeps_survivors = std::any_of(nodes.begin(), nodes.end(),
                                     [](const node_epoch& node) { return node.survivors > 0; });
  if (plan.keeps_survivors && may_move) plan.places = keep_places(nodes);
  const bool had_epoch = std::any_of(nodes.begin(), nodes.end(),
                                     [](const node_epoch& node) { return node.round >= 0; });
  if (!plan.keeps_survivors && had_epoch) plan.reason = "no worker of the last epoch is left";
  return plan;
}

}  // namespace elastic::detail

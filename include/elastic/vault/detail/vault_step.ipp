// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_step.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The parts of a generation on all nodes.
struct vault_parts {
  /// The ranks whose part is on their own node, and those whose part is on another node.
  std::set<int> present;
  std::set<int> misplaced;
  bool is_damaged = false;
};

/// The parts by generation and world size, the newest generation first. All parts of a generation
/// have the same world size.
using parts_of_worlds = std::map<std::pair<vault_generation, int>, vault_parts, std::greater<>>;

inline parts_of_worlds all_parts(const std::vector<vault_report>& nodes) {
  parts_of_worlds all;
  for (const vault_report& node : nodes) {
    for (const vault_commit& commit : node.commits) {
      vault_parts& parts = all[{commit.id, commit.world_size}];
      const int place = commit.rank - node.base_rank;
      const bool is_present = place >= 0 && place < node.workers;
      (is_present ? parts.present : parts.misplaced).insert(commit.rank);
      parts.is_damaged |= commit.is_damaged;
    }
  }
  return all;
}

/// The reason why a generation is no longer complete.
inline std::string loss_text(const vault_view& view, int world_size, int former_size,
                             const vault_parts& parts) {
  if (former_size != world_size) {
    return fmt::format("the number of ranks was {} and is {} now", former_size, world_size);
  }
  int rank = 0;
  while (parts.present.contains(rank)) ++rank;
  if (parts.misplaced.contains(rank)) {
    return fmt::format("rank {} is no longer at the node that has its part", rank);
  }
  const auto place = static_cast<std::size_t>(rank);
  const bool is_known = place < view.former_nodes.size() && !view.former_nodes[place].empty();
  return fmt::format("the part of rank {} was lost with {}", rank,
                     is_known ? "node " + view.former_nodes[place] : "its node");
}

/// The reason why a complete generation cannot be restored; empty: it can be.
inline std::string obstacle_to(const vault_generation& id, const vault_parts& parts,
                               const vault_step& step) {
  if (parts.is_damaged) return "a part of it is damaged";
  if (id != step.restored || step.restores < limits::vault_restores) return {};
  return fmt::format("it was restored {} times without a later commit", step.restores);
}

ELASTIC_DECL vault_step next_vault_step(const vault_view& view) {
  vault_step step;
  int world_size = 0;
  vault_generation newest;
  for (const vault_report& node : view.nodes) {
    world_size += node.workers;
    newest = std::max(newest, node.complete);
    if (std::tie(step.restored, step.restores) < std::tie(node.restored, node.restores)) {
      step.restored = node.restored;
      step.restores = node.restores;
    }
  }
  const parts_of_worlds all = all_parts(view.nodes);
  const bool is_newest_there = std::any_of(
      all.begin(), all.end(), [&](const auto& each) { return each.first.first == newest; });
  if (newest != vault_generation() && !is_newest_there) {
    step.given_up.push_back({newest, "no rank has its part any more"});
  }
  for (const auto& [key, parts] : all) {
    const auto& [id, former_size] = key;
    const bool is_whole =
        former_size == world_size && static_cast<int>(parts.present.size()) == world_size;
    if (!is_whole && id != newest) continue;
    std::string obstacle =
        is_whole ? obstacle_to(id, parts, step) : loss_text(view, world_size, former_size, parts);
    if (obstacle.empty()) {
      step.restore = id;
      break;
    }
    step.given_up.push_back({id, std::move(obstacle)});
  }
  return step;
}

ELASTIC_DECL vault_vote next_vault_vote(std::int64_t number,
                                        const std::vector<vault_committer>& workers) {
  bool is_kept = true;
  for (const vault_committer& each : workers) {
    const bool will_have_it = each.number < number || (each.number == number && each.is_writing);
    if (!each.has_it && !will_have_it) return vault_vote::skipped;
    is_kept = is_kept && each.has_it;
  }
  return is_kept ? vault_vote::kept : vault_vote::undecided;
}

/// The sort key of a slot; the slot with the smaller key is overwritten. Empty slots come first,
/// then older generations, then generations that are still pending, and last the complete one.
inline auto claim_of(const vault_slot_view& view, std::size_t index) {
  const vault_slot_view::slot& one = view.slots[index];
  const bool is_complete = one.id && one.id == view.complete;
  return std::tuple(is_complete, one.is_pending, one.id.value_or(vault_generation()));
}

ELASTIC_DECL vault_slot_choice next_vault_slot(const vault_slot_view& view) {
  vault_slot_choice choice;
  const bool is_second_larger = view.slots[1].bytes > view.slots[0].bytes;
  const auto first = claim_of(view, 0);
  const auto second = claim_of(view, 1);
  choice.slot = second < first || (second == first && is_second_larger) ? 1 : 0;
  const vault_slot_view::slot& chosen = view.slots[choice.slot];
  if (chosen.is_pending) {
    choice.refusal =
        fmt::format("generation {} is not complete yet: not every rank has committed it",
                    chosen.id->number);
    choice.awaited = chosen.id;
    return choice;
  }
  choice.is_new = chosen.bytes < view.needed;
  if (!choice.is_new) return choice;
  const std::uint64_t other = view.slots[1 - choice.slot].bytes;
  const std::uint64_t others = view.used - chosen.bytes - other;
  const std::uint64_t room = view.limit - std::min(view.limit, others);
  const std::uint64_t larger = std::max(view.needed, other);
  if (larger > room || view.needed > room - larger) {
    choice.refusal = fmt::format(
        "a commit of {} takes two slots of that size, and the limit of {} "
        "has {} left for this worker",
        memory_text(view.needed), memory_text(view.limit), memory_text(room));
  }
  return choice;
}

ELASTIC_DECL std::string memory_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  constexpr double step = 1024;
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= step && unit + 1 < std::size(units)) {
    amount /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", amount, units[unit]);
}

}  // namespace elastic::detail

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

#include <fmt/format.h>

namespace elastic::detail {

/// Why a complete generation is not restored; empty: it can be.
inline std::string obstacle_to(const vault_view& view, const vault_generation& id) {
  const bool is_damaged =
      std::find(view.damaged.begin(), view.damaged.end(), id) != view.damaged.end();
  if (is_damaged) return "a part of it is damaged";
  if (id != view.restored || view.restores < limits::vault_restores) return {};
  return fmt::format("it was restored {} times without a later commit", view.restores);
}

ELASTIC_DECL vault_step next_vault_step(const vault_view& view) {
  std::map<vault_generation, std::set<int>, std::greater<>> ranks;
  for (const vault_commit& commit : view.commits) {
    if (commit.world_size != view.world_size || commit.rank >= view.world_size) continue;
    ranks[commit.id].insert(commit.rank);
  }
  vault_step step;
  for (const auto& [id, present] : ranks) {
    if (static_cast<int>(present.size()) != view.world_size) continue;
    std::string obstacle = obstacle_to(view, id);
    if (obstacle.empty()) {
      step.restore = id;
      break;
    }
    step.given_up.push_back({id, std::move(obstacle)});
  }
  return step;
}

/// How much a slot has to be spared: an empty one first, then the one with the older generation.
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
    choice.refusal = fmt::format("generation {} is not complete yet: this rank is ahead of others",
                                 chosen.id->number);
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

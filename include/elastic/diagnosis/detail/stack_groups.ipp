// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stack_groups.hpp>

#include <elastic/base/detail/stable_order.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline auto key_of(const stack_frame& frame) {
  return std::tie(frame.file, frame.line, frame.function);
}

inline bool has_lower_frames(const rank_stack& left, const rank_stack& right) {
  return std::lexicographical_compare(
      left.frames.begin(), left.frames.end(), right.frames.begin(), right.frames.end(),
      [](const stack_frame& one, const stack_frame& other) { return key_of(one) < key_of(other); });
}

ELASTIC_DECL std::vector<stack_group> merge_stacks(std::vector<rank_stack> stacks) {
  sort_stably(stacks, has_lower_frames);
  std::vector<std::pair<std::vector<int>, std::vector<stack_frame>>> merged;
  for (rank_stack& each : stacks) {
    if (merged.empty() || merged.back().second != each.frames) {
      merged.emplace_back(std::vector<int>(), std::move(each.frames));
    }
    merged.back().first.push_back(each.rank);
  }
  for (auto& [ranks, frames] : merged) std::sort(ranks.begin(), ranks.end());
  std::sort(merged.begin(), merged.end(), [](const auto& left, const auto& right) {
    const auto order = [](const auto& each) {
      return std::tuple(each.second.empty(), ~each.first.size(), each.first.front());
    };
    return order(left) < order(right);
  });
  std::vector<stack_group> groups;
  for (auto& [ranks, frames] : merged) {
    groups.push_back({rank_set(std::move(ranks)), std::move(frames)});
  }
  return groups;
}

ELASTIC_DECL std::string to_string(const stack_group& group) {
  const std::string ranks =
      fmt::format("{} {}", group.ranks.size() == 1 ? "rank" : "ranks", group.ranks.text());
  const stack_frame* const user = user_frame(group.frames);
  if (user == nullptr) return ranks + ": the stack is not known";
  const stack_frame& innermost = group.frames.front();
  if (user == &innermost) return fmt::format("{}: {}", ranks, to_string(*user));
  return fmt::format("{}: {} at {}", ranks, printable_line(innermost.function), to_string(*user));
}

}  // namespace elastic::detail

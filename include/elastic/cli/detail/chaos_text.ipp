// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/chaos_text.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

struct chaos_kind_row {
  std::string_view name;
  chaos_plan::fault::kind what;
  bool is_for_ranks;
  bool is_for_nodes;
  bool lasts;
};

inline constexpr std::array<chaos_kind_row, 4> chaos_kinds{
    {{"kill", chaos_plan::fault::kind::kill, true, true, false},
     {"stop", chaos_plan::fault::kind::stop, true, false, true},
     {"slow", chaos_plan::fault::kind::slow, true, false, true},
     {"cut", chaos_plan::fault::kind::cut, false, true, true}}};

[[noreturn]] inline void refuse_fault(std::string_view part, std::string_view allowed) {
  throw error(errc::invalid_argument, fmt::format("'{}': {}", printable_text(part), allowed));
}

/// The part before a mark; `text` keeps the part behind it. Empty if there is no such mark.
inline std::optional<std::string_view> cut_at(std::string_view& text, char mark) {
  const std::size_t position = text.find(mark);
  if (position == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, position);
  text.remove_prefix(position + 1);
  return before;
}

/// "20s"; empty for what is not a time of at most 1000 hours.
inline std::optional<duration> chaos_time(std::string_view text) {
  constexpr double most_ms = 3.6e9;
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (failure != std::errc() || std::signbit(value)) return std::nullopt;
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  for (const auto& [name, factor] : units) {
    if (unit != name || !(value * factor <= most_ms)) continue;
    return std::chrono::milliseconds(std::llround(value * factor));
  }
  return std::nullopt;
}

template <class Integer>
std::optional<Integer> chaos_number(std::string_view text) {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || text.empty() || text.front() == '-') return {};
  return value;
}

inline chaos_plan::random_faults parse_noise(std::string_view part, std::string_view rest) {
  constexpr std::string_view allowed =
      "allowed is random=SEED@TIME, with a number and the average time between two faults, such as "
      "random=7@20s (at least 100ms)";
  const auto seed = cut_at(rest, '@');
  const auto number = seed ? chaos_number<std::uint64_t>(*seed) : std::nullopt;
  const auto gap = chaos_time(rest);
  if (!number || !gap || *gap < std::chrono::milliseconds(100)) refuse_fault(part, allowed);
  return {*number, *gap};
}

inline constexpr std::string_view allowed_faults =
    "the faults are kill=rank:R@TIME, kill=node:N@TIME, stop=rank:R@TIME+TIME, "
    "slow=rank:R@TIME+TIME, cut=node:N@TIME+TIME and random=SEED@TIME, with times such as 500ms, "
    "20s, 2m and 1h";

[[noreturn]] inline void refuse_kind(std::string_view part, std::string_view kind) {
  std::vector<std::string> names{"random"};
  for (const chaos_kind_row& row : chaos_kinds) names.emplace_back(row.name);
  const std::string nearest = nearest_name(kind, names);
  refuse_fault(part, (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) +
                         std::string(allowed_faults));
}

inline chaos_plan::fault parse_fault(std::string_view part, std::string_view kind,
                                     std::string_view rest) {
  const auto row = std::find_if(chaos_kinds.begin(), chaos_kinds.end(),
                                [&](const chaos_kind_row& entry) { return entry.name == kind; });
  if (row == chaos_kinds.end()) refuse_kind(part, kind);
  const auto target = cut_at(rest, ':');
  const auto number = cut_at(rest, '@');
  const auto begin = row->lasts ? cut_at(rest, '+') : std::optional<std::string_view>();
  const bool is_node = target == "node" && row->is_for_nodes;
  const bool is_rank = target == "rank" && row->is_for_ranks;
  if (!number || (!is_node && !is_rank) || (row->lasts && !begin)) {
    refuse_fault(part, allowed_faults);
  }
  const auto value = chaos_number<int>(*number);
  const auto time = chaos_time(row->lasts ? *begin : rest);
  const auto span = row->lasts ? chaos_time(rest) : duration::zero();
  if (!value || !time || !span || (row->lasts && *span == duration::zero())) {
    refuse_fault(part, allowed_faults);
  }
  chaos_plan::fault fault;
  fault.what = row->what;
  fault.scope = is_node ? chaos_plan::fault::target::node : chaos_plan::fault::target::rank;
  fault.number = *value;
  fault.start = *time;
  fault.span = *span;
  return fault;
}

inline std::string chaos_time_text(duration span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
}

ELASTIC_DECL chaos_plan parse_chaos_plan(std::string_view text) {
  chaos_plan plan;
  for (bool is_last = false; !is_last;) {
    std::string_view part = text;
    if (const auto before = cut_at(text, ',')) {
      part = *before;
    } else {
      is_last = true;
    }
    std::string_view rest = part;
    const std::string_view kind = cut_at(rest, '=').value_or("");
    if (kind == "random" && !plan.noise) {
      plan.noise = parse_noise(part, rest);
    } else if (kind == "random") {
      refuse_fault(part, "random is allowed once");
    } else if (plan.faults.size() == limits::chaos_faults) {
      refuse_fault(part, fmt::format("at most {} faults are allowed", limits::chaos_faults));
    } else {
      plan.faults.push_back(parse_fault(part, kind, rest));
    }
  }
  return plan;
}

ELASTIC_DECL std::string to_text(const chaos_plan::fault& fault) {
  std::string text;
  for (const chaos_kind_row& row : chaos_kinds) {
    if (row.what == fault.what) text = row.name;
  }
  text += fmt::format("={}:{}@{}", fault.scope == chaos_plan::fault::target::node ? "node" : "rank",
                      fault.number, chaos_time_text(fault.start));
  if (fault.span > duration::zero()) text += "+" + chaos_time_text(fault.span);
  return text;
}

ELASTIC_DECL std::string to_text(const chaos_plan& plan) {
  std::string text;
  for (const chaos_plan::fault& fault : plan.faults) {
    text += (text.empty() ? "" : ",") + to_text(fault);
  }
  if (plan.noise) {
    text += fmt::format("{}random={}@{}", text.empty() ? "" : ",", plan.noise->seed,
                        chaos_time_text(plan.noise->mean_gap));
  }
  return text;
}

ELASTIC_DECL std::string missing_targets(const chaos_plan& plan, int world_size, int nodes) {
  std::set<std::string> names;
  for (const chaos_plan::fault& fault : plan.faults) {
    const bool is_node = fault.scope == chaos_plan::fault::target::node;
    if (fault.number < (is_node ? nodes : world_size)) continue;
    names.insert(fmt::format("{} {}", is_node ? "node" : "rank", fault.number));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace elastic::detail

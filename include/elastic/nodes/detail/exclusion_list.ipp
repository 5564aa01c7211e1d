// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/exclusion_list.hpp>

#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void exclusion_list::add(const exclusion& added, time_point now) {
  const time_point until = deadline_after(now, added.remaining);
  const auto position = std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) {
    return each.original.name == added.name;
  });
  if (position != entries_.end()) {
    if (position->until >= until) return;
    entries_.erase(position);
  }
  if (entries_.size() >= limits::excluded_nodes) entries_.erase(entries_.begin());
  entries_.push_back({added, until});
}

ELASTIC_DECL std::optional<exclusion> exclusion_list::find(std::string_view name,
                                                           time_point now) const {
  for (const entry& each : entries_) {
    if (each.original.name != name || each.until <= now) continue;
    exclusion copy = each.original;
    copy.remaining = each.until - now;
    return copy;
  }
  return std::nullopt;
}

ELASTIC_DECL time_point exclusion_list::end_of(std::string_view name) const {
  for (const entry& each : entries_) {
    if (each.original.name == name) return each.until;
  }
  return time_point::max();
}

ELASTIC_DECL std::string exclusion_list::first_of(const std::vector<std::string>& names) const {
  for (const entry& each : entries_) {
    if (std::find(names.begin(), names.end(), each.original.name) != names.end()) {
      return each.original.name;
    }
  }
  return {};
}

ELASTIC_DECL void exclusion_list::readmit(std::string_view name) {
  std::erase_if(entries_, [&](const entry& each) { return each.original.name == name; });
}

ELASTIC_DECL void exclusion_list::remove_expired(time_point now) {
  std::erase_if(entries_, [&](const entry& each) { return each.until <= now; });
}

ELASTIC_DECL std::vector<exclusion> exclusion_list::at(time_point now) const {
  std::vector<exclusion> list;
  for (const entry& each : entries_) {
    if (each.until <= now) continue;
    list.push_back(each.original);
    list.back().remaining = each.until - now;
  }
  return list;
}

ELASTIC_DECL std::vector<exclusion> exclusion_list::in_full() const {
  std::vector<exclusion> list;
  for (const entry& each : entries_) list.push_back(each.original);
  return list;
}

ELASTIC_DECL std::string short_line(std::string_view text, std::size_t most) {
  return std::string(beginning_of(printable_line(text), most));
}

ELASTIC_DECL std::string text_of(const std::vector<exclusion>& exclusions) {
  std::string text;
  for (const exclusion& each : exclusions) {
    text += fmt::format("{} {} {}\n",
                        std::chrono::ceil<std::chrono::milliseconds>(each.remaining).count(),
                        each.name, short_line(each.why, limits::exclusion_reason_bytes));
  }
  return text;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/detail/exclusion_list.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>

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

ELASTIC_DECL void exclusion_list::forgive(std::string_view name) {
  std::erase_if(entries_, [&](const entry& each) { return each.original.name == name; });
}

ELASTIC_DECL void exclusion_list::forget_past(time_point now) {
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

ELASTIC_DECL std::string beginning_of(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  text.resize(most);
  return text;
}

ELASTIC_DECL std::string short_line(std::string_view text, std::size_t most) {
  return beginning_of(printable_line(text), most);
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

/// Result: none if the line is none of them.
inline std::optional<exclusion> read_exclusion(std::string_view line) {
  std::int64_t milliseconds = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, failure] = std::from_chars(line.data(), end, milliseconds);
  const bool is_time = failure == std::errc() && stop != end && *stop == ' ' && milliseconds > 0 &&
                       std::chrono::milliseconds(milliseconds) <= limits::exclusion_time;
  if (!is_time) return std::nullopt;
  const std::string_view rest(stop + 1, static_cast<std::size_t>(end - stop - 1));
  const std::size_t blank = rest.find(' ');
  if (blank == std::string_view::npos || !is_node_name(rest.substr(0, blank))) return std::nullopt;
  exclusion read;
  read.name = rest.substr(0, blank);
  read.remaining = std::chrono::milliseconds(milliseconds);
  read.why = short_line(rest.substr(blank + 1), limits::exclusion_reason_bytes);
  return read;
}

ELASTIC_DECL std::vector<exclusion> read_exclusions(const json_fields& fields, const char* name) {
  const std::string text = fields.text(name);
  std::vector<exclusion> exclusions;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto read = read_exclusion(std::string_view(text).substr(begin, end - begin));
    if (!read) fields.refuse(fmt::format("has \"{}\" with a line that is none of it", name));
    if (exclusions.size() >= limits::excluded_nodes) {
      fields.refuse(fmt::format("has over {} \"{}\"", limits::excluded_nodes, name));
    }
    exclusions.push_back(*read);
    begin = end + 1;
  }
  return exclusions;
}

inline bool is_name_letter(char letter) { return letter > ' ' && letter <= '~'; }

ELASTIC_DECL bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::node_name_bytes &&
         std::all_of(text.begin(), text.end(), is_name_letter);
}

ELASTIC_DECL std::string as_node_name(std::string_view text) {
  std::string name(text.substr(0, limits::node_name_bytes));
  if (name.empty()) name = "_";
  for (char& letter : name) {
    if (!is_name_letter(letter)) letter = '_';
  }
  return name;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/message_rows.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void number_row(record_rows& rows, const char* name,
                             std::vector<std::uint64_t>& numbers, std::size_t most) {
  constexpr std::size_t digits = 16;
  std::string text;
  if (!rows.reads()) {
    for (const std::uint64_t number : numbers) {
      append_hexadecimal(text, number, digits);
    }
  }
  if (!rows.text(name, text, most * digits)) return;
  numbers.clear();
  for (std::size_t begin = 0; begin < text.size(); begin += digits) {
    const char* const end = text.data() + begin + std::min(digits, text.size() - begin);
    const auto [stop, failure] =
        std::from_chars(text.data() + begin, end, numbers.emplace_back(), 16);
    if (failure != std::errc() || stop != end || text.size() % digits != 0) {
      rows.refuse(fmt::format("has \"{}\" that is not numbers of {} hexadecimal digits each", name,
                              digits));
    }
  }
}

ELASTIC_DECL void number_row(record_rows& rows, const char* name, std::uint64_t& number) {
  std::vector<std::uint64_t> numbers{number};
  number_row(rows, name, numbers, 1);
  if (numbers.empty()) rows.refuse(fmt::format("has an empty \"{}\"", name));
  if (rows.reads()) number = numbers.front();
}

/// Result: empty if the line is malformed.
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

ELASTIC_DECL void exclusion_row(record_rows& rows, std::vector<exclusion>& excluded) {
  constexpr std::size_t most_bytes = limits::rendezvous_message_bytes;
  std::string text = text_of(excluded);
  if (!rows.text("excluded", text, most_bytes, presence::sparse)) return;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    auto read = read_exclusion(std::string_view(text).substr(begin, end - begin));
    if (!read) rows.refuse("has \"excluded\" with a line other than \"MILLISECONDS NAME WHY\"");
    if (excluded.size() >= limits::excluded_nodes) {
      rows.refuse(fmt::format("has more than {} nodes in \"excluded\"", limits::excluded_nodes));
    }
    excluded.push_back(std::move(*read));
    begin = end + 1;
  }
}

ELASTIC_DECL void patience_rows(record_rows& rows, rendezvous_settings& settings) {
  rows.milliseconds("keep_alive_ms", settings.keep_alive_interval);
  // A single late keep-alive must not count as the loss of a node.
  rows.number("keep_alive_attempts", settings.keep_alive_max_attempt, 2, 1'000'000);
  rows.milliseconds("grace_ms", settings.reconnect_grace);
}

}  // namespace elastic::detail

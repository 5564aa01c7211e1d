// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/endpoint_list.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::vector<endpoint> parse_endpoints(std::string_view text,
                                                   std::uint16_t default_port, std::size_t most) {
  const std::string shown = printable_line(text);
  std::vector<endpoint> list;
  if (detail::trimmed(text).empty()) list.push_back(parse_endpoint(text, default_port));
  if (!list.empty()) return list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = detail::trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (entry.empty()) {
      throw error(
          errc::invalid_argument,
          fmt::format("endpoints '{:.300}': entry {} is empty: write host[:port],host[:port],...",
                      shown, list.size() + 1));
    }
    const endpoint next = parse_endpoint(entry, list.empty() ? default_port : list.front().port);
    if (std::find(list.begin(), list.end(), next) != list.end()) {
      throw error(errc::invalid_argument,
                  fmt::format("endpoints '{:.300}': {} is listed twice", shown, to_text(next)));
    }
    list.push_back(next);
  }
  if (list.size() > most) {
    throw error(errc::invalid_argument,
                fmt::format("endpoints '{:.300}': {} are given, at most {} are allowed", shown,
                            list.size(), most));
  }
  return list;
}

}  // namespace elastic

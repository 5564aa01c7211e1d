// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <elastic/base/detail/joined_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL int rendezvous_settings::most_of(int nodes) const {
  if (node_counts.empty()) return std::min(nodes, max_nodes);
  const auto beyond = std::upper_bound(node_counts.begin(), node_counts.end(), nodes);
  return beyond == node_counts.begin() ? nodes : *(beyond - 1);
}

ELASTIC_DECL bool rendezvous_settings::can_grow(int nodes, int most) const {
  return most_of(std::max(nodes, most)) > nodes;
}

ELASTIC_DECL duration rendezvous_settings::silence() const {
  constexpr duration longest = std::chrono::hours(10 * 365 * 24);
  const bool is_longer = keep_alive_interval > longest / std::max(keep_alive_max_attempt, 1);
  return is_longer ? longest : keep_alive_interval * keep_alive_max_attempt;
}

ELASTIC_DECL void rendezvous_settings::bound_patience(const rendezvous_settings& most) {
  reconnect_grace = std::min(reconnect_grace, most.reconnect_grace);
  if (silence() <= most.silence()) return;
  keep_alive_interval = most.keep_alive_interval;
  keep_alive_max_attempt = most.keep_alive_max_attempt;
}

ELASTIC_DECL std::vector<int> parse_node_counts(std::string_view text) {
  const auto refuse = [] {
    throw error(errc::invalid_argument,
                fmt::format("at most {} ascending numbers of nodes from 1 to {} are needed, such "
                            "as 2,4,8",
                            limits::node_counts, limits::nodes));
  };
  std::vector<int> counts;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    int count = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), count);
    const bool ascends = count > (counts.empty() ? 0 : counts.back()) && count <= limits::nodes;
    if (failure != std::errc() || end != part.data() + part.size() || !ascends) refuse();
    if (counts.size() == limits::node_counts) refuse();
    counts.push_back(count);
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return counts;
}

ELASTIC_DECL std::string node_counts_text(const std::vector<int>& node_counts) {
  return detail::joined_text<int>(node_counts, ",");
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_wrap.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline std::optional<int> rank_in_text(std::string_view text) {
  int rank = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  if (!is_whole || rank < 0 || rank >= limits::job_ranks) return std::nullopt;
  return rank;
}

}  // namespace detail

ELASTIC_DECL bool worker_wrap::is_for(int rank) const {
  if (command.empty()) return false;
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](const auto& part) {
    return part.first <= rank && rank <= part.second;
  });
}

ELASTIC_DECL std::vector<std::pair<int, int>> parse_wrap_ranks(std::string_view text) {
  constexpr std::size_t most_parts = 1024;
  std::vector<std::pair<int, int>> ranks;
  std::string_view rest = text;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = detail::rank_in_text(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : detail::rank_in_text(part.substr(dash + 1));
    if (!first || !last || *last < *first || ranks.size() == most_parts) {
      throw error(errc::invalid_argument,
                  fmt::format("{} is not a list of ranks, such as 0,8-15, with at most {} parts",
                              in_quotes(text), most_parts));
    }
    ranks.emplace_back(*first, *last);
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  return ranks;
}

}  // namespace elastic

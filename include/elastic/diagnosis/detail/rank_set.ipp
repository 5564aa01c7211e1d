// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/rank_set.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace elastic::detail {

/// Reads the parts of a set's text in order.
class rank_set_reader {
 public:
  explicit rank_set_reader(std::string_view text) : rest_(text) {}

  bool is_empty() const { return rest_.empty(); }

  bool take(char sign) {
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// From 0 to the highest rank.
  std::optional<int> take_rank() {
    int rank = -1;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), rank);
    const bool is_taken = failure == std::errc() && rest_.front() != '-';
    if (!is_taken || rank >= limits::job_ranks) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return rank;
  }

 private:
  std::string_view rest_;
};

ELASTIC_DECL rank_set::rank_set(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::size_t begin = 0; begin < ranks.size();) {
    const bool is_last = begin + 1 == ranks.size();
    const int stride = is_last ? 1 : ranks[begin + 1] - ranks[begin];
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == stride) ++end;
    // Two ranks that are not adjacent form no range.
    if (end - begin == 2 && stride != 1) end = begin + 1;
    const bool is_one = end - begin == 1;
    ranges_.push_back({ranks[begin], ranks[end - 1], is_one ? 1 : stride});
    begin = end;
  }
}

ELASTIC_DECL std::size_t rank_set::size() const {
  std::size_t count = 0;
  for (const range& each : ranges_) {
    count += static_cast<std::size_t>((each.last - each.first) / each.stride) + 1;
  }
  return count;
}

ELASTIC_DECL bool rank_set::contains(int rank) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const range& each) {
    return rank >= each.first && rank <= each.last && (rank - each.first) % each.stride == 0;
  });
}

ELASTIC_DECL std::vector<int> rank_set::ranks() const {
  std::vector<int> ranks;
  ranks.reserve(size());
  for (const range& each : ranges_) {
    for (int rank = each.first; rank <= each.last; rank += each.stride) ranks.push_back(rank);
  }
  return ranks;
}

ELASTIC_DECL std::string rank_set::text() const {
  std::string text;
  for (const range& each : ranges_) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}", each.first);
    if (each.last != each.first) text += fmt::format("-{}", each.last);
    if (each.stride != 1) text += fmt::format("/{}", each.stride);
  }
  return text;
}

ELASTIC_DECL rank_set rank_set::parse(std::string_view text) {
  const auto refuse = [&] {
    constexpr auto form =
        "{} is not a set of ranks; ranges in ascending order, such as 0-7,9, below {} and in at "
        "most "
        "{} bytes are allowed";
    throw error(errc::protocol_violation, fmt::format(form, in_quotes(text), limits::job_ranks,
                                                      limits::rank_set_bytes));
  };
  rank_set set;
  if (text.empty()) return set;
  if (text.size() > limits::rank_set_bytes) refuse();
  rank_set_reader reader(text);
  int highest = -1;
  do {
    const auto first = reader.take_rank();
    const auto last = reader.take('-') ? reader.take_rank() : first;
    const auto stride = reader.take('/') ? reader.take_rank() : std::optional(1);
    const bool is_range = first && last && stride && *stride > 0 && *first > highest &&
                          *last >= *first && (*last - *first) % *stride == 0;
    if (!is_range) refuse();
    highest = *last;
    set.ranges_.push_back({*first, *last, *stride});
  } while (reader.take(','));
  if (!reader.is_empty()) refuse();
  return set;
}

}  // namespace elastic::detail

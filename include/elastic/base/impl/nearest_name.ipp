// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/nearest_name.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace elastic {

namespace detail {

/// How many letters must be put in, left out or replaced to make one word of the other.
inline std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace detail

ELASTIC_DECL std::string nearest_name(std::string_view word,
                                      const std::vector<std::string>& names) {
  std::string nearest;
  if (word.size() < 2) return nearest;
  std::size_t least = std::max<std::size_t>(1, (word.size() - 2) / 4) + 1;
  for (const std::string& name : names) {
    const std::string_view beginning = std::string_view(name).substr(0, word.size() + 1);
    const std::size_t distance =
        std::min(detail::edit_distance(word, name), detail::edit_distance(word, beginning));
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace elastic

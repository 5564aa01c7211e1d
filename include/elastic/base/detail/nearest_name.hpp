// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// How many letters must be inserted, deleted, replaced or swapped with the next one to turn one
/// word into the other.
inline std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> rows(left.size() + 1,
                                             std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= right.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const bool same = left[i - 1] == right[j - 1];
      rows[i][j] =
          std::min({rows[i - 1][j - 1] + (same ? 0 : 1), rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[left.size()][right.size()];
}

/// The name that `word` probably stands for: few letters differ, or the name begins with it.
/// Result: empty if there is none. Thread-safe.
inline std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  std::string nearest;
  constexpr std::size_t longest = 100;  // a longer word is not a misspelt name
  if (word.size() < 2 || word.size() > longest) return nearest;
  std::size_t least = std::max<std::size_t>(1, (word.size() - 2) / 4) + 1;
  for (const std::string& name : names) {
    const std::string_view beginning = std::string_view(name).substr(0, word.size() + 1);
    const std::size_t distance =
        std::min(edit_distance(word, name), edit_distance(word, beginning));
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace elastic::detail

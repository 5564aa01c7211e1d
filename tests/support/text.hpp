// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

// Looking at what programs print.
namespace elastic::test {

inline bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often `part`, which is not empty, begins in `text`.
inline int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// What stands in `text` between the first `from` and the next `to`; empty if they do not.
inline std::string text_between(const std::string& text, const std::string& from,
                                const std::string& to) {
  const auto begin = text.find(from);
  if (begin == text.npos) return {};
  const auto end = text.find(to, begin + from.size());
  if (end == text.npos) return {};
  return text.substr(begin + from.size(), end - begin - from.size());
}

}  // namespace elastic::test

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

// Helpers for the output of programs.
namespace elastic::test {

inline bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often `part` occurs in `text`; `part` must not be empty.
inline int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The part of `text` between the first `from` and the next `to`; empty if either is missing.
inline std::string text_between(const std::string& text, const std::string& from,
                                const std::string& to) {
  const auto begin = text.find(from);
  if (begin == text.npos) return {};
  const auto end = text.find(to, begin + from.size());
  if (end == text.npos) return {};
  return text.substr(begin + from.size(), end - begin - from.size());
}

}  // namespace elastic::test

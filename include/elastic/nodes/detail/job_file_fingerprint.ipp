// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/job_file_fingerprint.hpp>

#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The parts of a fingerprint by their names.
inline std::map<std::string_view, std::string_view> parts_of(std::string_view fingerprint) {
  std::map<std::string_view, std::string_view> parts;
  while (!fingerprint.empty()) {
    const std::string_view part = fingerprint.substr(0, fingerprint.find(' '));
    fingerprint.remove_prefix(std::min(part.size() + 1, fingerprint.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    parts.emplace(part.substr(0, equals), part.substr(equals));
  }
  return parts;
}

ELASTIC_DECL std::string fingerprint_difference(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty() || left == right) return {};
  constexpr int most_named = 5;
  const auto lefts = parts_of(left);
  auto rights = parts_of(right);
  std::vector<std::string_view> names;
  for (const auto& [name, digest] : lefts) {
    const auto same = rights.find(name);
    if (same == rights.end() || same->second != digest) names.push_back(name);
    if (same != rights.end()) rights.erase(same);
  }
  for (const auto& [name, digest] : rights) names.push_back(name);
  std::string text;
  int named = 0;
  for (const std::string_view name : names) {
    if (++named > most_named) break;
    const std::string shown = printable_line(name);
    if (!text.empty()) text += ", ";
    text += shown.empty() ? "a nameless part" : shown;
  }
  if (named > most_named) text += " and more";
  return text;
}

ELASTIC_DECL std::optional<std::string> objection_to_file(std::string_view run_id,
                                                          std::string_view running,
                                                          std::string_view own) {
  const std::string other_parts = fingerprint_difference(running, own);
  if (other_parts.empty()) return std::nullopt;
  return fmt::format(
      "the job '{}' was started with a different job file than this node: they differ in {}; "
      "start all nodes with the same file",
      run_id, other_parts);
}

ELASTIC_DECL std::string_view job_of_role(std::string_view run_id) {
  const std::size_t end = run_id.rfind('/');
  return end == std::string_view::npos ? std::string_view() : run_id.substr(0, end);
}

}  // namespace elastic::detail

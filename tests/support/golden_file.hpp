// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// Golden files: recorded texts that a test compares with the ones of today. tests/golden has those
// that hold what users' programs read.
namespace elastic::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace golden_parts {

/// A part of the lines of a text.
struct passage {
  const std::vector<std::string>& all;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The first lines that a passage has more often than another one, with their numbers.
inline std::string lines_missing_in(const passage& other, const passage& own, char sign) {
  constexpr int most = 10;
  std::map<std::string, int> count;
  for (std::size_t at = other.begin; at < other.end; ++at) ++count[other.all[at]];
  std::string text;
  int missing = 0;
  for (std::size_t at = own.begin; at < own.end; ++at) {
    if (--count[own.all[at]] >= 0) continue;
    if (++missing <= most) text += fmt::format("{} {:>4}: {}\n", sign, at + 1, own.all[at]);
  }
  if (missing > most) text += fmt::format("{} and {} more lines\n", sign, missing - most);
  return text;
}

inline bool is_prose(const std::string& key) {
  return key == "reason" || key == "sentence" || key == "text" || key == "decision";
}

/// @param key  the last name in `path`
inline void flatten(const nlohmann::json& value, const std::string& path, const std::string& key,
                    std::string& text) {
  if (!value.is_structured() || value.empty()) {
    const bool is_text = value.is_string() && value != "" && is_prose(key);
    text += fmt::format("{}{}{}\n", path, path.empty() ? "" : ": ",
                        is_text ? "TEXT" : value.dump());
    return;
  }
  for (const auto& [name, part] : value.items()) {
    const std::string step = value.is_array() ? fmt::format("[{}]", name) : name;
    const bool has_dot = value.is_object() && !path.empty();
    flatten(part, path + (has_dot ? "." : "") + step, name, text);
  }
}

}  // namespace golden_parts

/// The first lines in which a text differs from the expected one: "-" before a line that is
/// expected, "+" before one that is there. Empty: the texts are equal.
inline std::string difference_of(const std::string& expected, const std::string& text) {
  if (expected == text) return {};
  const std::vector<std::string> before = lines_of(expected);
  const std::vector<std::string> now = lines_of(text);
  const std::size_t shorter = std::min(before.size(), now.size());
  std::size_t first = 0;
  while (first < shorter && before[first] == now[first]) ++first;
  std::size_t last = 0;  // counted from the end
  const auto ends_alike = [&] {
    return before[before.size() - 1 - last] == now[now.size() - 1 - last];
  };
  while (last < shorter - first && ends_alike()) ++last;
  const golden_parts::passage lost{before, first, before.size() - last};
  const golden_parts::passage found{now, first, now.size() - last};
  const std::string shown = golden_parts::lines_missing_in(found, lost, '-') +
                            golden_parts::lines_missing_in(lost, found, '+');
  if (!shown.empty()) return shown;
  return fmt::format("the same lines in another order, from line {} on, or another line end\n",
                     first + 1);
}

/// Whether tests write golden files instead of comparing with them: with ELASTIC_REWRITE_GOLDEN=1
/// in the environment.
inline bool rewrites_golden_files() { return named_program("ELASTIC_REWRITE_GOLDEN") == "1"; }

/// Checks that a text is that of a file, whose path begins at the folder of the tests.
inline void check_golden(const std::string& file, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(ELASTIC_SOURCE_DIR "/tests") / file;
  if (rewrites_golden_files()) {
    std::ofstream(path, std::ios::binary) << text;
    SUCCEED();
    return;
  }
  const std::string difference = difference_of(file_text(path), text);
  INFO("tests/" << file << " and what it is now differ (CONTRIBUTING.md says when it may change):\n"
                << difference);
  CHECK(difference.empty());
}

/// The values in a JSON document, one a line, sorted: "workers[0].pid: 4000". Words for people are
/// a TEXT.
inline std::string flat_json(const nlohmann::json& document) {
  std::string text;
  golden_parts::flatten(document, "", "", text);
  return text;
}

}  // namespace elastic::test

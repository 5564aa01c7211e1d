// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/line_head.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string time_text(wall_time moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(moment) - whole;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds.count());
}

ELASTIC_DECL line_head& line_head::add_text(std::string_view text) {
  if (text.empty()) return *this;
  if (pieces_.empty() || pieces_.back().what != piece::kind::text) {
    pieces_.push_back({piece::kind::text, {}});
  }
  pieces_.back().text += text;
  return *this;
}

ELASTIC_DECL line_head& line_head::add_time() {
  pieces_.push_back({piece::kind::time, {}});
  return *this;
}

ELASTIC_DECL line_head& line_head::add_pid() {
  pieces_.push_back({piece::kind::pid, {}});
  return *this;
}

ELASTIC_DECL bool line_head::has_time() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const piece& part) { return part.what == piece::kind::time; });
}

ELASTIC_DECL std::string line_head::text(pid_t pid, wall_time moment) const {
  std::string whole;
  for (const piece& part : pieces_) {
    switch (part.what) {
      case piece::kind::text: whole += part.text; break;
      case piece::kind::time: whole += time_text(moment); break;
      case piece::kind::pid: whole += std::to_string(pid); break;
    }
  }
  return whole;
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/log_recorder.hpp>

#include <algorithm>

namespace elastic::testing {

ELASTIC_DECL void log_recorder::write(log_level level, std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(level, std::string(text));
}

ELASTIC_DECL logger log_recorder::log() { return logger(shared_from_this(), log_level::debug); }

ELASTIC_DECL std::size_t log_recorder::count(std::string_view part, log_level level) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [&](const auto& line) {
        return line.first >= level && line.second.find(part) != std::string::npos;
      }));
}

ELASTIC_DECL std::string log_recorder::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& line : lines_) text += line.second + '\n';
  return text;
}

}  // namespace elastic::testing

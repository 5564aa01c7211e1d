// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/log_recorder.hpp>

#include <elastic/base/detail/new_shared.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace elastic::testing {

/// What a recorder and its loggers share.
class log_recorder::record final : public log_handler {
 public:
  void write(log_level level, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, std::string(text));
  }

  std::vector<std::pair<log_level, std::string>> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<log_level, std::string>> lines_;
};

ELASTIC_DECL log_recorder::log_recorder() : record_(elastic::detail::new_shared<record>()) {}

ELASTIC_DECL void log_recorder::write(log_level level, std::string_view text) noexcept {
  record_->write(level, text);
}

ELASTIC_DECL logger log_recorder::log() { return logger(record_, log_level::debug); }

ELASTIC_DECL std::size_t log_recorder::count(std::string_view part, log_level level) const {
  const auto lines = record_->lines();
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
    return line.first >= level && line.second.find(part) != std::string::npos;
  }));
}

ELASTIC_DECL std::string log_recorder::text() const {
  std::string text;
  for (const auto& line : record_->lines()) text += line.second + '\n';
  return text;
}

}  // namespace elastic::testing

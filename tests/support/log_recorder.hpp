// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::test {

/// Keeps every log line: `auto log = std::make_shared<log_recorder>(); … log->has("restarting")`.
class log_recorder final : public log_handler, public std::enable_shared_from_this<log_recorder> {
 public:
  void write(log_level level, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, std::string(text));
  }

  /// A logger that writes here, from debug on.
  logger log() { return logger(shared_from_this(), log_level::debug); }

  /// How many lines have `part` in them, of `level` and above.
  std::size_t count(std::string_view part, log_level level = log_level::debug) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(lines_.begin(), lines_.end(), [&](const auto& line) {
          return line.first >= level && line.second.find(part) != std::string::npos;
        }));
  }
  bool has(std::string_view part, log_level level = log_level::debug) const {
    return count(part, level) > 0;
  }

  /// Every line, for the message of a test that fails.
  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& line : lines_) text += line.second + '\n';
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<log_level, std::string>> lines_;
};

}  // namespace elastic::test

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

/// Makes lines of bytes that come in pieces; never holds more than `limits::control_line_bytes` of
/// an unfinished one.
class line_intake {
 public:
  /// What comes next; valid until the next call of any member.
  struct item {
    /// A line without its end; empty where it was `too_long`.
    std::string_view line;
    bool too_long = false;
  };

  void append(std::string_view bytes) {
    held_.erase(0, taken_);
    taken_ = 0;
    held_.append(bytes);
  }

  /// The next line; none where it is not whole yet. One that is too long is told of once, and what
  /// follows of it is passed over.
  std::optional<item> next() {
    for (;;) {
      const std::string_view rest = std::string_view(held_).substr(taken_);
      const std::size_t end = rest.find('\n');
      if (end == rest.npos) {
        if (rest.size() < limits::control_line_bytes) return std::nullopt;
        taken_ = held_.size();
        if (skipping_) return std::nullopt;
        skipping_ = true;
        return item{{}, true};
      }
      taken_ += end + 1;
      const bool rest_of_long = skipping_;
      skipping_ = false;
      if (rest_of_long) continue;
      if (end >= limits::control_line_bytes) return item{{}, true};
      return item{rest.substr(0, end), false};
    }
  }

  std::size_t held() const { return held_.size() - taken_; }

 private:
  std::string held_;
  std::size_t taken_ = 0;
  bool skipping_ = false;
};

}  // namespace elastic

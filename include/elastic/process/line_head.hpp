// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// "2026-11-20T14:03:21.042Z": a time of day as logs name it, in UTC.
inline std::string time_text(wall_time at) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(at) - whole;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds.count());
}

/// What stands before each line of a process's output: text, and in it the time and the id of the
/// process, which nobody knows before it runs. A plain text becomes one by itself.
class line_head {
 public:
  line_head() = default;
  line_head(std::string text) { add_text(text); }
  line_head(const char* text) { add_text(text); }

  line_head& add_text(std::string_view text) {
    if (text.empty()) return *this;
    if (pieces_.empty() || pieces_.back().what != piece::kind::text) {
      pieces_.push_back({piece::kind::text, {}});
    }
    pieces_.back().text += text;
    return *this;
  }
  /// When the line was read.
  line_head& add_time() {
    pieces_.push_back({piece::kind::time, {}});
    return *this;
  }
  /// Which process wrote it.
  line_head& add_pid() {
    pieces_.push_back({piece::kind::pid, {}});
    return *this;
  }

  bool empty() const { return pieces_.empty(); }
  bool has_time() const {
    return std::any_of(pieces_.begin(), pieces_.end(),
                       [](const piece& one) { return one.what == piece::kind::time; });
  }

  /// The text for lines that are read from one process at one time.
  std::string text(pid_t pid, wall_time at) const {
    std::string whole;
    for (const piece& one : pieces_) {
      switch (one.what) {
        case piece::kind::text: whole += one.text; break;
        case piece::kind::time: whole += time_text(at); break;
        case piece::kind::pid: whole += std::to_string(pid); break;
      }
    }
    return whole;
  }

  friend bool operator==(const line_head&, const line_head&) = default;

 private:
  struct piece {
    enum class kind { text, time, pid };
    kind what;
    std::string text;
    friend bool operator==(const piece&, const piece&) = default;
  };
  std::vector<piece> pieces_;
};

}  // namespace elastic

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
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// The prefix of each line of a process's output. It may contain the time and the process id, which
/// are known only when the process runs. Converts implicitly from text.
class line_head {
 public:
  line_head() = default;
  line_head(std::string text) { add_text(text); }
  line_head(const char* text) { add_text(text); }

  line_head& add_text(std::string_view text);
  /// The time at which the line was read.
  line_head& add_time();
  /// The process that wrote it.
  line_head& add_pid();

  bool empty() const { return pieces_.empty(); }
  bool has_time() const;

  /// The text for lines that are read from one process at one time.
  std::string text(pid_t pid, wall_time moment) const;

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

namespace detail {

/// "2026-11-20T14:03:21.042Z": a time of day as in logs, in UTC.
inline std::string time_text(wall_time moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(moment) - whole;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds.count());
}

}  // namespace detail

inline line_head& line_head::add_text(std::string_view text) {
  if (text.empty()) return *this;
  if (pieces_.empty() || pieces_.back().what != piece::kind::text) {
    pieces_.push_back({piece::kind::text, {}});
  }
  pieces_.back().text += text;
  return *this;
}

inline line_head& line_head::add_time() {
  pieces_.push_back({piece::kind::time, {}});
  return *this;
}

inline line_head& line_head::add_pid() {
  pieces_.push_back({piece::kind::pid, {}});
  return *this;
}

inline bool line_head::has_time() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const piece& part) { return part.what == piece::kind::time; });
}

inline std::string line_head::text(pid_t pid, wall_time moment) const {
  std::string whole;
  for (const piece& part : pieces_) {
    switch (part.what) {
      case piece::kind::text: whole += part.text; break;
      case piece::kind::time: whole += detail::time_text(moment); break;
      case piece::kind::pid: whole += std::to_string(pid); break;
    }
  }
  return whole;
}

}  // namespace elastic

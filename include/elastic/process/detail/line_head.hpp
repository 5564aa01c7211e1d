// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// "2026-11-20T14:03:21.042Z": a time of day as in logs, in UTC.
ELASTIC_DECL std::string time_text(wall_time moment);

/// The prefix of each line of a process's output. It may contain the time and the process id, which
/// are known only when the process runs. Converts implicitly from text.
class line_head {
 public:
  line_head() = default;
  line_head(std::string text) { add_text(text); }
  line_head(const char* text) { add_text(text); }

  ELASTIC_DECL line_head& add_text(std::string_view text);
  /// When the line was read.
  ELASTIC_DECL line_head& add_time();
  /// Which process wrote it.
  ELASTIC_DECL line_head& add_pid();

  bool empty() const { return pieces_.empty(); }
  ELASTIC_DECL bool has_time() const;

  /// The text for lines that are read from one process at one time.
  ELASTIC_DECL std::string text(pid_t pid, wall_time moment) const;

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

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/line_head.ipp>
#endif

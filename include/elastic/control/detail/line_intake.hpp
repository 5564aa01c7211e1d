// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Splits bytes that arrive in pieces into lines; buffers at most `limits::control_line_bytes` of
/// an unfinished line.
class line_intake {
 public:
  /// The next line; valid until the next call of any member.
  struct item {
    /// A line without its end; empty if it was `too_long`.
    std::string_view line;
    bool too_long = false;
  };

  ELASTIC_DECL void append(std::string_view bytes);

  /// The next line; empty if it is not complete yet. A line that is too long is reported once, and
  /// the rest of it is skipped.
  ELASTIC_DECL std::optional<item> next();

  std::size_t held() const { return held_.size() - taken_; }

 private:
  std::string held_;
  std::size_t taken_ = 0;
  bool skipping_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/line_intake.ipp>
#endif

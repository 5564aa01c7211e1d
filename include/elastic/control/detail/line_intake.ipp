// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/line_intake.hpp>

#include <elastic/base/limits.hpp>

namespace elastic::detail {

ELASTIC_DECL void line_intake::append(std::string_view bytes) {
  held_.erase(0, taken_);
  taken_ = 0;
  held_.append(bytes);
}

ELASTIC_DECL auto line_intake::next() -> std::optional<item> {
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

}  // namespace elastic::detail

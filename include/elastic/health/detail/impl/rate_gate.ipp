// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/detail/rate_gate.hpp>

#include <chrono>

namespace elastic::detail {

ELASTIC_DECL std::optional<time_point> rate_gate::count(time_point now, int how_many) {
  if (now - since_ >= std::chrono::seconds(1)) {
    since_ = now;
    count_ = 0;
  }
  count_ += how_many;
  if (count_ <= most_) return std::nullopt;
  return since_ + std::chrono::seconds(1);
}

}  // namespace elastic::detail

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>
#include <optional>

namespace elastic::detail {

/// Limits how often something happens within a second.
class rate_gate {
 public:
  explicit rate_gate(int most) : most_(most) {}

  /// Counts `how_many` events. Result: when to continue, if they exceed the limit.
  std::optional<time_point> count(time_point now, int how_many = 1);

 private:
  int most_;
  int count_ = 0;
  time_point since_{};
};

inline std::optional<time_point> rate_gate::count(time_point now, int how_many) {
  if (now - since_ >= std::chrono::seconds(1)) {
    since_ = now;
    count_ = 0;
  }
  count_ += how_many;
  if (count_ <= most_) return std::nullopt;
  return since_ + std::chrono::seconds(1);
}

}  // namespace elastic::detail

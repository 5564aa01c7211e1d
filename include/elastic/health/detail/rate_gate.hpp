// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <optional>

namespace elastic::detail {

/// Limits how often something happens within a second.
class rate_gate {
 public:
  explicit rate_gate(int most) : most_(most) {}

  /// Counts `how_many` events. Result: when to continue, if they exceed the limit.
  ELASTIC_DECL std::optional<time_point> count(time_point now, int how_many = 1);

 private:
  int most_;
  int count_ = 0;
  time_point since_{};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/rate_gate.ipp>
#endif

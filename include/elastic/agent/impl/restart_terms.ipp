// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_terms.hpp>

#include <elastic/base/error.hpp>

namespace elastic {

ELASTIC_DECL void validate(const restart_terms& terms) {
  const duration day = std::chrono::hours(24);
  const auto demand = [](bool holds, const char* sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(terms.window >= duration::zero(), "the window of restarts must not be negative");
  demand(terms.delay >= duration::zero() && terms.delay <= day,
         "the delay of restarts is 0 to 24 hours");
  demand(terms.delay_max >= duration::zero() && terms.delay_max <= day,
         "the greatest delay of restarts is 0 to 24 hours");
  demand(terms.while_progress >= 0, "while_progress must not be negative");
  demand(terms.healthy_uptime >= duration::zero(), "healthy_uptime must not be negative");
}

}  // namespace elastic

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_selection.hpp>

#include <chrono>

namespace elastic {

/// When workers that failed start again, as long as restarts are left. The defaults are torchrun's:
/// at once, and however they ended.
struct restart_terms {
  /// Only failures of the last so much time use up the restarts. 0: all of the job's.
  duration window = duration::zero();

  /// How long to wait before the first restart; twice as long before the next, up to `max_delay`.
  /// 0: no wait.
  duration delay = duration::zero();
  duration max_delay = std::chrono::seconds(60);
  /// Workers that ran for so long were healthy: the wait after their failure is `delay` again.
  duration healthy_uptime = std::chrono::seconds(60);

  /// Not after a worker that ended in one of these ways.
  exit_selection never_after = {};
  /// Only after a worker that ended in one of these ways, where there are any.
  exit_selection only_after = {};
};

/// Checks the bounds of restart_terms. Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const restart_terms& terms) {
  const duration day = std::chrono::hours(24);
  const auto demand = [](bool holds, const char* sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(terms.window >= duration::zero(), "the window of restarts must not be negative");
  demand(terms.delay >= duration::zero() && terms.delay <= day,
         "the delay of restarts is 0 to 24 hours");
  demand(terms.max_delay >= duration::zero() && terms.max_delay <= day,
         "the greatest delay of restarts is 0 to 24 hours");
  demand(terms.healthy_uptime >= duration::zero(), "healthy_uptime must not be negative");
}

}  // namespace elastic

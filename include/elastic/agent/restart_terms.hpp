// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_selection.hpp>

#include <chrono>

namespace elastic {

/// When failed workers restart, as long as restarts are left. The defaults are torchrun's: at once,
/// after any failure.
struct restart_terms {
  /// Only failures within this time count against the restarts. 0: all failures of the job.
  duration window = duration::zero();

  /// How long to wait before the first restart; doubled before each further one, up to `delay_max`.
  /// 0: no wait.
  duration delay = duration::zero();
  duration delay_max = std::chrono::seconds(60);
  /// If the workers ran for at least this long, the wait after their failure is `delay` again.
  duration healthy_uptime = std::chrono::seconds(60);

  /// The number of failures in a row without a new step after which there is no restart; 0:
  /// progress does not matter. It does not matter either before a worker of this node has reported
  /// a step.
  int while_progress = 0;

  /// No restart after a worker that ended in one of these ways.
  exit_selection never_after = {};
  /// If not empty: restart only after a worker that ended in one of these ways.
  exit_selection only_after = {};
};

/// Checks the bounds of restart_terms. Errors: `errc::invalid_argument`, with the allowed range.
ELASTIC_DECL void validate(const restart_terms& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/restart_terms.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_selection.hpp>

#include <chrono>

namespace elastic {

/// When workers that failed start again, as long as restarts are left. The defaults are torchrun's:
/// at once, and however they ended.
struct restart_terms {
  /// Only failures of the last so much time use up the restarts. 0: all of the job's.
  duration window = duration::zero();

  /// How long to wait before the first restart; twice as long before the next, up to `delay_max`.
  /// 0: no wait.
  duration delay = duration::zero();
  duration delay_max = std::chrono::seconds(60);
  /// Workers that ran for so long were healthy: the wait after their failure is `delay` again.
  duration healthy_uptime = std::chrono::seconds(60);

  /// After so many failures in a row without a step that no attempt had reached before, there is
  /// no restart; 0: progress has no say. Nor has it before a worker of this node has reported a
  /// step.
  int while_progress = 0;

  /// Not after a worker that ended in one of these ways.
  exit_selection never_after = {};
  /// Only after a worker that ended in one of these ways, if there are any.
  exit_selection only_after = {};
};

/// Checks the bounds of restart_terms. Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const restart_terms& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/restart_terms.ipp>
#endif

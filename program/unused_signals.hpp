// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/signal_plan.hpp>

namespace elasticrun {

/// Catches SIGUSR1 and SIGUSR2, unless the plan of the job has a use for them, and logs each once
/// with the options that would give it one. Schedulers send them before a time limit, often to
/// every process of a job, and that must not end the job.
///
/// Ends only by cancellation (all types). Both signals then have their default handling again.
elastic::task<void> report_unused_signals(elastic::signal_plan plan, elastic::logger log);

}  // namespace elasticrun

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <vector>

namespace elastic {

/// Runs an agent as a program does: the signals of the plan stop it in order, its workers getting
/// the same signal, or are passed on to its workers. A SIGINT while it stops kills them at once.
/// SIGHUP stays ignored if the program was started so (`nohup`). When this returns, the signals
/// are handled as before.
///
/// Result, errors and cancellation: those of `local_agent::run`; `errc::invalid_argument` for a
/// signal of the plan that cannot be caught, or that is to do both.
ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent, named<signal_plan> plan);
/// The same with the default signal_plan.
ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent);

namespace detail {

/// The same beside watchers, which end by cancellation only. One that fails ends the run.
///
/// Errors: besides, that of a watcher. Cancellation: requests go to the agent alone.
ELASTIC_DECL task<run_result> run_watched(local_agent& agent, signal_plan plan,
                                          std::vector<task<void>> watchers);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/run_with_signals.ipp>
#endif

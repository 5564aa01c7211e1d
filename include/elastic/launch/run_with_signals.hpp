// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/signal_plan.hpp>

namespace elastic {

/// Runs an agent as a program does. Each signal of the plan either stops the agent cleanly, and its
/// workers get the same signal, or is passed on to the workers. A SIGINT during a stop kills the
/// workers at once. SIGHUP remains ignored if it was ignored at the start (`nohup`). When this
/// returns, the former signal handling is restored.
///
/// Result, errors and cancellation: those of `local_agent::run`; `errc::invalid_argument` for a
/// signal of the plan that cannot be caught, or that is in two lists.
ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent, named<signal_plan> plan);
/// The same with the default signal_plan.
ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/run_with_signals.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>

#include <memory>

namespace elastic {

/// Makes the agent that a configuration describes, for callers that want to `stop` it.
///
/// If `services` has no guard policy, guard file, event handler or logs_specs, those of the
/// configuration are used.
/// Errors: `errc::invalid_argument` if a value is out of bounds, a name unknown, or a function
/// cannot take its arguments.
ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config);
ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config,
                                                     named<agent_services> services);

namespace detail {

ELASTIC_DECL task<run_result> run_agent(std::unique_ptr<local_agent> agent);

}  // namespace detail

/// Runs the job that a configuration describes on this node to its end.
///
/// Result, errors and cancellation: as for `local_agent::run`. The call itself throws the errors of
/// `make_agent`, before anything is awaited.
ELASTIC_DECL task<run_result> launch(named<launch_config> config);
ELASTIC_DECL task<run_result> launch(named<launch_config> config, named<agent_services> services);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/launcher.ipp>
#endif

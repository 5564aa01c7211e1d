// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/observe/job_command.hpp>
#include <elastic/observe/status_server.hpp>

#include <memory>

namespace elastic {

/// Shows what a job does where its configuration says (`launch_config::status`): makes the journal
/// of the services if they have none, follows it, and becomes their observer, in front of the one
/// that they have. Call it before the agent is made, and stop the server after its run.
///
/// @param commands  see status_server_options; empty: nothing can be commanded
/// Result: the server; null if the configuration names no place.
/// Errors: those of `parse_status_address`, `read_status_token` and `status_server`.
ELASTIC_DECL std::unique_ptr<status_server> show_job(asio::any_io_executor executor,
                                                     const launch_config& config,
                                                     agent_services& services,
                                                     command_handler commands = {});

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/job_status.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <memory>

namespace elastic {

struct agent_services;
class job_monitor;
struct rendezvous_parameters;

/// Has the agent that is made with these services show its job by a job_monitor, and, in a job of
/// several nodes, report it to the node that shows the whole job. `make_agent` connects the monitor
/// with the rendezvous.
///
/// The monitor follows the journal, which is added if the services have none, stands in front of
/// the observer, carries the reports of nodes, and reads what the stores of this node count. For
/// programs that serve the view by means of their own; others call `add_status`.
/// @param meeting  the `rendezvous` of the launch_config, for the name of the node
/// Result: the monitor; that of the services if they have one.
/// Errors: `errc::invalid_argument` if the reports of the services are no job_monitor's.
ELASTIC_DECL std::shared_ptr<job_monitor> add_monitor(agent_services& services,
                                                      const rendezvous_parameters& meeting);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/add_monitor.ipp>
#endif

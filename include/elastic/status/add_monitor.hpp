// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <memory>

namespace elastic {

struct agent_services;
class job_monitor;
struct rendezvous_parameters;
class roles_monitor;

/// Adds a job_monitor to the services of an agent. It shows the agent's job and, in a job of
/// several nodes, reports to the node that shows the whole job. `make_agent` connects the monitor
/// with the rendezvous.
///
/// The monitor follows the journal (which is added if the services have none), is a part of the
/// agent, handles the reports of nodes, and reads the counters of this node's stores. It is for
/// programs that serve the view by other means; others call `add_status`.
/// @param meeting  the `rendezvous` of the launch_config, for the name of the node
/// Result: the monitor; that of the services if they have one.
/// Errors: `errc::invalid_argument` if the `reports` of the services do not belong to a
/// job_monitor.
ELASTIC_DECL std::shared_ptr<job_monitor> add_monitor(agent_services& services,
                                                      const rendezvous_parameters& meeting);

/// The same for a role of a job of several, each time that a new agent, or a new set of replicas,
/// runs it: adds its monitor and its tails.
/// @param role  its place
ELASTIC_DECL void add_monitor(agent_services& services, const rendezvous_parameters& meeting,
                              roles_monitor& roles, std::size_t role);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/add_monitor.ipp>
#endif

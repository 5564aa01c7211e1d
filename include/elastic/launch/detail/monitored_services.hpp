// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <memory>

namespace elastic {

class job_monitor;
class store_meter;
struct agent_services;
struct rendezvous_parameters;

namespace detail {

/// Adds a journal, with the rendezvous' name of the node, unless the services have one.
ELASTIC_DECL void add_journal(agent_services& services, const rendezvous_parameters& meeting);

/// Adds a journal, and a monitor that follows it, unless the services have them.
ELASTIC_DECL void add_monitor(agent_services& services, const rendezvous_parameters& meeting);

/// What counts the use of the stores of this node, for the monitor's view.
ELASTIC_DECL std::shared_ptr<store_meter> measure_stores(job_monitor& monitor);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/monitored_services.ipp>
#endif

// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/add_monitor.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/output_sender.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/status/roles_monitor.hpp>
#include <elastic/store/detail/store_meter.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <optional>

namespace elastic {

namespace detail {

/// Tells the monitor where the output is, and adds the part that sends it to the node that shows
/// the job.
inline void add_output(agent_services& services, const std::shared_ptr<job_monitor_core>& monitor,
                       const std::shared_ptr<output_tails>& tails) {
  monitor->locate_logs([tails] { return tails->folder(); });
  add_part(services, "output", [monitor, tails](const agent_part::context& agent) {
    auto sender = new_shared<output_sender>(monitor, tails, agent);
    sender->start();
    return sender;
  });
}

inline void measure_stores(job_monitor_core& monitor, const std::shared_ptr<store_meter>& meter) {
  monitor.measure_stores([meter]() -> std::optional<viewed_stores> {
    const auto keys = meter->keys();
    if (!keys) return std::nullopt;
    return viewed_stores{meter->requests(), *keys};
  });
}

}  // namespace detail

ELASTIC_DECL std::shared_ptr<job_monitor> add_monitor(agent_services& services,
                                                      const rendezvous_parameters& meeting) {
  auto& links = detail::internals::of(services);
  if (links.reports) {
    auto core = std::dynamic_pointer_cast<detail::job_monitor_core>(links.reports);
    if (core) return detail::internals::make<job_monitor>(core);
    throw error(errc::invalid_argument,
                "the services have reports that are not a job_monitor's: give add_monitor services "
                "without them");
  }
  detail::add_journal(services, meeting);
  auto monitor = detail::new_shared<job_monitor>(services.time);
  services.journal->add(monitor);
  add_part(services, "monitor", monitor);
  const auto& core = detail::internals::core_of(*monitor);
  links.reports = core;
  if (!links.meter) links.meter = detail::new_shared<detail::store_meter>();
  detail::measure_stores(*core, links.meter);
  if (!links.tails) links.tails = detail::new_shared<detail::output_tails>();
  detail::add_output(services, core, links.tails);
  return monitor;
}

ELASTIC_DECL void add_monitor(agent_services& services, const rendezvous_parameters& meeting,
                              roles_monitor& roles, std::size_t role) {
  detail::add_journal(services, meeting);
  roles.begin(role, services.journal);
  const std::shared_ptr<job_monitor>& monitor = roles.monitor(role);
  add_part(services, "monitor", monitor);
  auto& links = detail::internals::of(services);
  const auto& core = detail::internals::core_of(*monitor);
  links.reports = core;
  links.tails = detail::internals::tails_of(roles, role);
  links.meter = detail::new_shared<detail::store_meter>();
  detail::measure_stores(*core, links.meter);
  detail::add_output(services, core, links.tails);
}

}  // namespace elastic
